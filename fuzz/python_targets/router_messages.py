"""Messages of routers and their clients: hostile bytes are refused with a code, and a router stays.

The first byte selects the kind of the message or another text, the second the size of its header.
Patterns of a snapshot are read as lines, and its digest is computed, so that their parser and the
router's interest are reached.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from penstock.documents import Document, Header
from penstock.errors import PenstockError
from penstock.links import Message, document_to_message
from penstock.routing import (
    AnnotationReport,
    Deliveries,
    DigestConfirmation,
    DigestRequest,
    ForwardedDocument,
    LinkUp,
    LocalSubscription,
    MessageReceived,
    Pattern,
    Router,
    RouterMessage,
    Subscribe,
    SubscriptionDelta,
    SubscriptionSnapshot,
)
from penstock.routing.aggregate_delta import digest_of
from penstock.routing.subscription_text import subscription_from_text, subscription_to_text
from penstock.service.router.wire_messages import (
    Attach,
    Attached,
    Kind,
    Receipt,
    Result,
    SubscribeRequest,
    SynchroniseRequest,
    UnsubscribeRequest,
    decode,
    delivery_from_link,
    delivery_to_link,
    encode,
    read_subscriptions,
    router_message_from_link,
    router_message_to_link,
    subscribe_request,
)

DICTIONARY = "queries.dict"

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_BYTES_MAX: Final = 100_000
_ADA: Final = LocalSubscription(
    id="s1", subscriber="ada", query="//x:flash[@n > 3]", namespaces={"x": "urn:x"}, starts_at=_NOW
)
_DOCUMENT: Final = Document(
    b"<news><flash/></news>", Header(publisher="wire", id="7", fields={"lang": "en"})
)
_PROBE: Final = Document(
    b"<x:flash xmlns:x='urn:x' n='4'/>", Header(publisher="probe", id="no-other-document")
)
_PATTERNS: Final = (
    Pattern.of_path("//x:a", namespaces={"x": "urn:x"}, where={"lang": "en"}),
    Pattern.of_keywords("storm OR gale"),
)


def _router() -> Router:
    router = Router(name="r1", neighbours=["r2", "r3"], chance=random.Random(1))
    router.receive(Subscribe(subscriptions=(_ADA,)), _NOW)
    for neighbour in ("r2", "r3"):
        router.receive(LinkUp(neighbour=neighbour, is_authenticated=True), _NOW)
    return router


def _to_router(message: RouterMessage) -> None:
    """A document is still delivered, whatever a neighbour sent before."""
    router = _router()
    router.receive(MessageReceived(neighbour="r2", message=message), _NOW)
    probe = ForwardedDocument(document=_PROBE)
    outputs = router.receive(MessageReceived(neighbour="r3", message=probe), _NOW)
    assert any(isinstance(output, Deliveries) for output in outputs)


def _message(kind: int) -> Callable[[bytes, bytes], None]:
    def run(header: bytes, body: bytes) -> None:
        _to_router(router_message_from_link(Message(header=header, body=body, kind=kind)))

    return run


def _delivery(header: bytes, body: bytes) -> None:
    delivered = delivery_from_link(Message(header=header, body=body, kind=Kind.DELIVERY))
    assert (delivered.content is None) == (delivered.fragments is not None)


def _subscribe(_header: bytes, body: bytes) -> None:
    request = decode(body, SubscribeRequest)
    read = read_subscriptions(request, subscriber="eve", prefix="eve-")
    assert all(each.subscriber == "eve" and each.id.startswith("eve-") for each in read)


def _requests(_header: bytes, body: bytes) -> None:
    types = (Attach, Attached, UnsubscribeRequest, SynchroniseRequest, Result, list[Receipt])
    for of_type in types:
        with suppress(PenstockError):
            assert decode(encode(decode(body, of_type)), of_type) is not None


def _subscription(_header: bytes, body: bytes) -> None:
    read = subscription_from_text(body.decode("utf-8", "replace"))
    assert subscription_from_text(subscription_to_text(read)) == read


def _patterns(_header: bytes, body: bytes) -> None:
    keys = tuple(body.decode("utf-8", "replace").splitlines())
    digest = ""
    with suppress(Exception):  # a digest is not needed where patterns are refused
        digest = digest_of(map(Pattern.from_key, keys))
    _to_router(SubscriptionSnapshot(number=1, digest=digest, patterns=keys))


_RUNS: Final[tuple[Callable[[bytes, bytes], None], ...]] = (
    *map(_message, (*range(6), 255)),
    _delivery,
    _subscribe,
    _requests,
    _subscription,
    _patterns,
)
_DELIVERY: Final = _RUNS.index(_delivery)


def _input(run: int, message: Message) -> bytes:
    assert len(message.header) < 256
    return bytes((run, len(message.header))) + message.header + message.body


def seeds() -> list[bytes]:
    """One input for each parser."""
    keys = tuple(pattern.key for pattern in _PATTERNS)
    digest = digest_of(_PATTERNS)
    messages: list[RouterMessage] = [
        ForwardedDocument(document=_DOCUMENT, mapping="m", annotations=b"\x01" * 40),
        SubscriptionDelta(before=digest_of(()), after=digest, added=keys),
        SubscriptionDelta(before=digest, after=digest, removed=(_PATTERNS[0].digest,)),
        DigestRequest(number=1, digest=digest),
        DigestConfirmation(number=1, digest=digest),
        SubscriptionSnapshot(number=1, digest=digest, patterns=keys),
        AnnotationReport(documents=3, bytes_not_read={"skeleton": 4}),
    ]
    linked = [router_message_to_link(each, message_bytes=_BYTES_MAX) for each in messages]
    whole = delivery_to_link(1, "s1", _DOCUMENT, fragments=None, fragments_omitted=0)
    part = delivery_to_link(
        2, "s1", _DOCUMENT, fragments='[["element", "<flash/>"]]', fragments_omitted=1
    )
    texts = {
        _subscribe: encode(subscribe_request(1, (_ADA,))),
        _requests: encode(Attach(1, "store", 7)),
        _subscription: subscription_to_text(_ADA).encode(),
        _patterns: "\n".join(keys).encode(),
    }
    return [
        *(_input(each.kind, each) for each in linked),
        _input(0, document_to_message(_DOCUMENT)),
        _input(_DELIVERY, whole),
        _input(_DELIVERY, part),
        *(_input(_RUNS.index(run), Message(body=body)) for run, body in texts.items()),
        _input(_RUNS.index(_requests), Message(body=encode([Receipt(1, "accepted")]))),
    ]


def run_input(data: bytes) -> None:
    """Decode a message, and let a router receive it."""
    if len(data) < 2:
        return
    header, body = data[2 : 2 + data[1]], data[2 + data[1] :]
    with suppress(PenstockError):
        _RUNS[data[0] % len(_RUNS)](header, body)
