"""A document that fails after a match list has decided it is refused, and counted once."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.routing import (
    Deliveries,
    DocumentRefused,
    ForwardedDocument,
    LinkUp,
    LocalSubscription,
    MessageReceived,
    Publish,
    Router,
    RouterInput,
    SendMessage,
    Subscribe,
)
from penstock.routing.document_dispatcher import DocumentDispatcher
from penstock.routing.interest_index import InterestIndex
from support.routing.one_router import NOW, document, receive


class PanicException(BaseException):
    """Like the exception of a native panic."""


def raises(*_: object, **__: object) -> None:
    raise PanicException("index out of bounds")


def pair(*unconnected: str) -> tuple[Router, Router]:
    """Two routers with an authenticated link; the second has a subscription to fragments, and
    neighbours that are not connected."""
    routers = {
        "r1": Router(name="r1", neighbours=["r2"]),
        "r2": Router(name="r2", neighbours=["r1", *unconnected]),
    }
    wanted = LocalSubscription(id="s1", subscriber="ada", query="//flash", returns="fragments")
    routers["r2"].receive(Subscribe(subscriptions=(wanted,)), NOW)
    waiting: list[tuple[str, str, RouterInput]] = [
        ("r1", "r2", LinkUp(neighbour="r2", is_authenticated=True)),
        ("r2", "r1", LinkUp(neighbour="r1", is_authenticated=True)),
    ]
    while waiting:
        name, other, input_ = waiting.pop(0)
        for output in routers[name].receive(input_, NOW):
            assert isinstance(output, SendMessage)
            message = MessageReceived(neighbour=name, message=output.message)
            waiting.append((other, name, message))
    return routers["r1"], routers["r2"]


def forward(router: Router, number: int) -> ForwardedDocument:
    outputs = router.receive(Publish(document=document(b"<flash/>", number)), NOW)
    [forwarded] = [
        each.message
        for each in outputs
        if isinstance(each, SendMessage) and isinstance(each.message, ForwardedDocument)
    ]
    assert forwarded.annotations
    return forwarded


@pytest.mark.parametrize("name", ["select", "pass_on"])
def test_a_document_that_fails_unread_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    first, second = pair()
    good = receive(second, "r1", forward(first, 1))
    assert [type(each) for each in good] == [Deliveries]
    before = second.counters
    assert before.not_read == 1
    with monkeypatch.context() as patched:
        patched.setattr(InterestIndex, name, raises)
        [refused] = receive(second, "r1", forward(first, 2))
    assert isinstance(refused, DocumentRefused)
    assert refused.dead_letter.code == "internal.error"
    assert refused.dead_letter.report
    counts = second.counters
    assert (counts.received, counts.dead) == (2, 1)
    assert (counts.matched, counts.not_read) == (before.matched, before.not_read)
    assert (counts.deliveries, counts.forwards) == (before.deliveries, before.forwards)
    receive(second, "r1", forward(first, 3))
    assert second.counters.deliveries == before.deliveries + 1


def test_a_document_that_fails_for_one_neighbour_waits_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = pair("r3", "r4")
    receive(second, "r1", forward(first, 1))
    before = second.counters
    assert before.not_read == 1
    assert (second.waiting("r3"), second.waiting("r4")) == (1, 1)
    annotate, calls = DocumentDispatcher._annotate, []

    def fails_at_the_second(dispatcher: DocumentDispatcher, *arguments: Any) -> bytes:  # noqa: ANN401
        calls.append(dispatcher)
        if len(calls) == 2:
            raise PanicException("index out of bounds")
        return annotate(dispatcher, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(DocumentDispatcher, "_annotate", fails_at_the_second)
        [refused] = receive(second, "r1", forward(first, 2))
    assert isinstance(refused, DocumentRefused)
    assert (second.waiting("r3"), second.waiting("r4")) == (1, 1)
    counts = second.counters
    assert (counts.received, counts.dead) == (2, 1)
    kept = ("matched", "not_read", "deliveries", "forwards", "annotation_bytes")
    assert all(getattr(counts, name) == getattr(before, name) for name in kept)
