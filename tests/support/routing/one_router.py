"""A router with neighbours that the test plays."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.documents import Document, Header
from penstock.routing import (
    DigestRequest,
    LinkUp,
    MessageReceived,
    Pattern,
    Router,
    RouterMessage,
    RouterOutput,
    SendMessage,
    SubscriptionDelta,
    SubscriptionSnapshot,
    digest_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def document(content: bytes = b"<a/>", number: int = 1, publisher: str = "wire") -> Document:
    return Document(content, Header(publisher=publisher, id=str(number)))


def paths(*queries: str) -> list[Pattern]:
    return [Pattern.of_path(query) for query in queries]


def snapshot(number: int, patterns: list[Pattern]) -> SubscriptionSnapshot:
    return SubscriptionSnapshot(
        number=number,
        digest=digest_of(patterns),
        patterns=tuple(pattern.key for pattern in patterns),
    )


def delta(before: list[Pattern], after: list[Pattern]) -> SubscriptionDelta:
    return SubscriptionDelta(
        before=digest_of(before),
        after=digest_of(after),
        added=tuple(pattern.key for pattern in after if pattern not in before),
        removed=tuple(pattern.digest for pattern in before if pattern not in after),
    )


def receive(router: Router, neighbour: str, message: RouterMessage) -> tuple[RouterOutput, ...]:
    return router.receive(MessageReceived(neighbour=neighbour, message=message), NOW)


def sent(outputs: tuple[RouterOutput, ...], neighbour: str) -> list[RouterMessage]:
    """The messages to a neighbour."""
    return [
        output.message
        for output in outputs
        if isinstance(output, SendMessage) and output.neighbour == neighbour
    ]


def request_in(outputs: tuple[RouterOutput, ...], neighbour: str) -> DigestRequest:
    """The only message to a neighbour, which is a digest request."""
    (request,) = sent(outputs, neighbour)
    assert isinstance(request, DigestRequest)
    return request


def link_up(router: Router, neighbour: str, interest: list[Pattern]) -> None:
    """Establishes the link to a neighbour, which then states its interest."""
    (request, *_) = sent(router.receive(LinkUp(neighbour=neighbour), NOW), neighbour)
    assert isinstance(request, DigestRequest)
    receive(router, neighbour, snapshot(request.number, interest))
