"""Messages of routers and their clients as messages of a link."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, TypeVar

import msgspec

from penstock.documents import Document, Header
from penstock.errors import PenstockError, error
from penstock.links import Message, document_from_message, document_to_message
from penstock.routing import (
    AnnotationReport,
    DigestConfirmation,
    DigestRequest,
    ForwardedDocument,
    LocalSubscription,
    RouterMessage,
    SubscriptionDelta,
    SubscriptionSnapshot,
)
from penstock.routing.router_messages import forwarded_document
from penstock.routing.subscription_text import subscription_from_text, subscription_to_text
from penstock.service.router.limits import SUBSCRIPTIONS_PER_SUBSCRIBER_MAX

_T = TypeVar("_T")

NO_DIGEST: Final = "0" * 32
"""The digest of no set of patterns."""


class Kind(IntEnum):
    """The kinds of messages; a link carries the number."""

    # Between routers
    DOCUMENT = 0
    DELTA = 1
    DIGEST_REQUEST = 2
    DIGEST_CONFIRMATION = 3
    SNAPSHOT = 4
    ANNOTATION_REPORT = 6
    """5 was a report without times."""

    # From a client to its router
    PUBLISH = 16
    ATTACH = 17
    SUBSCRIBE = 18
    UNSUBSCRIBE = 19
    SYNCHRONISE = 20

    # From a router to its client
    RECEIPTS = 32
    ATTACHED = 33
    RESULT = 34
    DELIVERY = 35


class _Delta(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    before: str
    after: str
    added: tuple[str, ...]
    removed: tuple[bytes, ...]


class _Request(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    number: int
    digest: str


class _Snapshot(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    number: int
    digest: str
    patterns: tuple[str, ...]


class _AnnotationReport(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    documents: int
    bytes_read: int
    bytes_not_read: dict[str, int]
    nanoseconds_reading: int
    nanoseconds_deciding: dict[str, int]


class _Travelling(msgspec.Struct, frozen=True, array_like=True):
    """What routers add to a document."""

    mapping: str = ""
    annotations: bytes = b""


class Attach(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A subscriber asks for its deliveries."""

    number: int
    """Number of the request, which its answer repeats."""
    store_id: str = ""
    """The store that numbered the deliveries that it has; empty if it has none."""
    after: int = 0
    """Number of the last delivery that it has stored."""


class Attached(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Answers :class:`Attach`: deliveries follow."""

    number: int
    store_id: str
    after: int


class SubscribeRequest(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A subscriber adds subscriptions, all or none."""

    number: int
    subscriptions: tuple[str, ...]
    """As :func:`~penstock.routing.subscription_text.subscription_to_text` writes them."""


class UnsubscribeRequest(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A subscriber removes subscriptions, all or none."""

    number: int
    ids: tuple[str, ...]
    """Without any, all of the subscriber's are removed."""


class SynchroniseRequest(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A client asks for an answer once everything before is committed."""

    number: int


class Result(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Answers a request."""

    number: int
    code: str = ""
    """Code of the error; empty if it was carried out."""
    message: str = ""
    changed: int = 0
    """Number of subscriptions that were added or removed."""


class Receipt(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What became of a published document."""

    sequence: int
    """Sequence number of its message in the session."""
    outcome: str
    """``accepted``, ``duplicate`` or ``refused``."""
    code: str = ""
    message: str = ""


class _DeliveryHeader(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    number: int
    subscription: str
    identity: str
    publisher: str
    schema: str
    id: str
    fields: dict[str, str]
    is_fragments: bool
    fragments_omitted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredDocument:
    """A delivery as its subscriber receives it."""

    number: int
    """Its position among the deliveries to this subscriber."""
    subscription: str
    identity: str
    """Identity of the document."""
    header: Header
    content: bytes | None
    """The published bytes; ``None`` if fragments are delivered instead."""
    fragments: tuple[tuple[str, str], ...] | None
    """Kind and XML of the selected fragments, if the subscription requests them."""
    fragments_omitted: int = 0


def encode(value: object) -> bytes:
    """A structure as MessagePack."""
    return msgspec.msgpack.encode(value)


def decode(content: bytes, of_type: type[_T]) -> _T:
    """The structure of a message.

    Raises
    ------
    RoutingError
        ``routing.message``
    """
    try:
        return msgspec.msgpack.decode(content, type=of_type)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise error("routing.message", f"malformed message: {problem}") from None


def router_message_to_link(message: RouterMessage, *, message_bytes: int) -> Message:
    """A message to a neighbour.

    An interest that is longer than ``message_bytes`` cannot be sent. The neighbour gets a statement
    instead that it has to refuse, and its replica then counts as everything: nothing is lost.
    """
    if isinstance(message, ForwardedDocument):
        added = encode(_Travelling(message.mapping, message.annotations))
        return document_to_message(message.document, annotations=added, kind=Kind.DOCUMENT)
    encoded = _encode_interest(message)
    if encoded.size <= message_bytes:
        return encoded
    match message:
        case SubscriptionSnapshot(number=number):
            return _encode_interest(
                SubscriptionSnapshot(number=number, digest=NO_DIGEST, patterns=())
            )
        case _:
            return _encode_interest(SubscriptionDelta(before=NO_DIGEST, after=NO_DIGEST))


def _encode_interest(message: RouterMessage) -> Message:
    match message:
        case SubscriptionDelta():
            delta = _Delta(message.before, message.after, message.added, message.removed)
            return Message(body=encode(delta), kind=Kind.DELTA)
        case DigestRequest():
            request = _Request(message.number, message.digest)
            return Message(body=encode(request), kind=Kind.DIGEST_REQUEST)
        case DigestConfirmation():
            confirmation = _Request(message.number, message.digest)
            return Message(body=encode(confirmation), kind=Kind.DIGEST_CONFIRMATION)
        case SubscriptionSnapshot():
            snapshot = _Snapshot(message.number, message.digest, message.patterns)
            return Message(body=encode(snapshot), kind=Kind.SNAPSHOT)
        case AnnotationReport():
            report = _AnnotationReport(
                message.documents,
                message.bytes_read,
                dict(message.bytes_not_read),
                message.nanoseconds_reading,
                dict(message.nanoseconds_deciding),
            )
            return Message(body=encode(report), kind=Kind.ANNOTATION_REPORT)
        case _:
            raise TypeError(f"{type(message).__name__} is not an interest")


def router_message_from_link(message: Message) -> RouterMessage:
    """The message of a neighbour.

    Raises
    ------
    RoutingError
        ``routing.message``
    LinkError
        ``link.document``: the header of a document is malformed.
    """
    match message.kind:
        case Kind.DOCUMENT:
            document, added = document_from_message(message)
            travelling = decode(added, _Travelling) if added else _Travelling()
            return forwarded_document(document, travelling.mapping, travelling.annotations)
        case Kind.DELTA:
            delta = decode(message.body, _Delta)
            return SubscriptionDelta(
                before=delta.before, after=delta.after, added=delta.added, removed=delta.removed
            )
        case Kind.DIGEST_REQUEST:
            request = decode(message.body, _Request)
            return DigestRequest(number=request.number, digest=request.digest)
        case Kind.DIGEST_CONFIRMATION:
            confirmation = decode(message.body, _Request)
            return DigestConfirmation(number=confirmation.number, digest=confirmation.digest)
        case Kind.SNAPSHOT:
            snapshot = decode(message.body, _Snapshot)
            return SubscriptionSnapshot(
                number=snapshot.number, digest=snapshot.digest, patterns=snapshot.patterns
            )
        case Kind.ANNOTATION_REPORT:
            report = decode(message.body, _AnnotationReport)
            return AnnotationReport(
                documents=report.documents,
                bytes_read=report.bytes_read,
                bytes_not_read=report.bytes_not_read,
                nanoseconds_reading=report.nanoseconds_reading,
                nanoseconds_deciding=report.nanoseconds_deciding,
            )
        case _:
            raise error("routing.message", f"a router sends no messages of kind {message.kind}")


def delivery_to_link(
    number: int,
    subscription: str,
    document: Document,
    *,
    fragments: str | None,
    fragments_omitted: int,
) -> Message:
    """A delivery to a subscriber; ``fragments`` is the JSON array of a store."""
    header = document.header
    encoded = encode(
        _DeliveryHeader(
            number,
            subscription,
            document.identity,
            header.publisher,
            header.schema,
            header.id,
            dict(header.fields),
            fragments is not None,
            fragments_omitted,
        )
    )
    body = document.content if fragments is None else fragments.encode()
    return Message(header=encoded, body=body, kind=Kind.DELIVERY)


def delivery_from_link(message: Message) -> DeliveredDocument:
    """The delivery of a message.

    Raises
    ------
    RoutingError
        ``routing.message``
    """
    read = decode(message.header, _DeliveryHeader)
    fragments = None
    try:
        header = Header(
            publisher=read.publisher, schema=read.schema, id=read.id, fields=read.fields
        )
        if read.is_fragments:
            fragments = tuple((str(kind), str(xml)) for kind, xml in json.loads(message.body))
    except (PenstockError, ValueError, TypeError, RecursionError) as problem:
        raise error("routing.message", f"malformed delivery: {problem}") from None
    return DeliveredDocument(
        number=read.number,
        subscription=read.subscription,
        identity=read.identity,
        header=header,
        content=None if read.is_fragments else message.body,
        fragments=fragments,
        fragments_omitted=read.fragments_omitted,
    )


def read_subscriptions(
    request: SubscribeRequest, *, subscriber: str, prefix: str
) -> list[LocalSubscription]:
    """The subscriptions of a request, for the subscriber who sent it.

    Raises
    ------
    PenstockError
        A subscription is malformed or invalid, or there are more than a subscriber can have.
    """
    if len(request.subscriptions) > SUBSCRIPTIONS_PER_SUBSCRIBER_MAX:
        raise error(
            "routing.too-many-subscriptions",
            f"{len(request.subscriptions):,} subscriptions of {subscriber},"
            f" more than {SUBSCRIPTIONS_PER_SUBSCRIBER_MAX:,}",
        )
    read = map(subscription_from_text, request.subscriptions)
    return [replace(each, id=f"{prefix}{each.id}", subscriber=subscriber) for each in read]


def subscribe_request(
    number: int, subscriptions: tuple[LocalSubscription, ...]
) -> SubscribeRequest:
    """The request that adds subscriptions."""
    return SubscribeRequest(number, tuple(map(subscription_to_text, subscriptions)))
