"""Messages between routers. They are immutable, and validated when they are made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from penstock.documents import Document
from penstock.documents.document import slot_setters
from penstock.errors import error

_DIGEST: Final = re.compile("[0-9a-f]{32}")
_PATTERN_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionDelta:
    """The sender's interest changed."""

    before: str
    """Digest of the set that the delta applies to."""

    after: str
    """Digest of the resulting set."""

    added: tuple[str, ...] = ()
    """Keys of the added patterns."""

    removed: tuple[bytes, ...] = ()
    """Digests of the removed patterns."""

    def __post_init__(self) -> None:
        _check_digest(self.before)
        _check_digest(self.after)
        _check_keys(self.added)
        if any(
            type(each) is not bytes or len(each) != _PATTERN_DIGEST_BYTES for each in self.removed
        ):
            raise error("routing.message", "a removed pattern is named by a digest of 16 bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRequest:
    """The sender asks whether its replica of the receiver's interest is up to date."""

    number: int
    """Number of the request; its answer repeats it."""

    digest: str
    """Digest of the replica; empty if the sender has none."""

    def __post_init__(self) -> None:
        _check_number(self.number)
        if self.digest != "":
            _check_digest(self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestConfirmation:
    """Answers a :class:`DigestRequest`: the replica is up to date."""

    number: int
    digest: str

    def __post_init__(self) -> None:
        _check_number(self.number)
        _check_digest(self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionSnapshot:
    """Answers a :class:`DigestRequest`: the sender's complete interest."""

    number: int
    digest: str
    patterns: tuple[str, ...]
    """Keys of the patterns."""

    def __post_init__(self) -> None:
        _check_number(self.number)
        _check_digest(self.digest)
        _check_keys(self.patterns)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class ForwardedDocument:
    """A document that matches the receiver's interest."""

    document: Document
    """As it was published."""

    mapping: str = ""
    """Digest of the mapping under which the first router matched the document; empty if it needs
    none. All routers on the way match it under the same one."""

    annotations: bytes = b""
    """What the sender states about the document; see
    ``AnnotationHeader``."""

    def __init__(self, *, document: Document, mapping: str = "", annotations: bytes = b"") -> None:
        if (
            not isinstance(document, Document)
            or not isinstance(mapping, str)
            or type(annotations) is not bytes
        ):
            raise error(
                "routing.message", "a forwarded document is a document, a digest and annotations"
            )
        # Written out, like the constructors of documents.
        _set_document(self, document)
        _set_mapping(self, mapping)
        _set_annotations(self, annotations)


_set_document, _set_mapping, _set_annotations = slot_setters(ForwardedDocument)


def forwarded_document(document: Document, mapping: str, annotations: bytes) -> ForwardedDocument:
    """A forwarded document of parts whose types are certain. Two are made for each document and
    hop, and checking the types takes half of the time."""
    forwarded = object.__new__(ForwardedDocument)
    _set_document(forwarded, document)
    _set_mapping(forwarded, mapping)
    _set_annotations(forwarded, annotations)
    return forwarded


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationReport:
    """What the annotations of the receiver's documents saved the sender."""

    documents: int
    """Documents with annotations since the last report."""

    bytes_read: int = 0
    """Bytes of these documents that were read all the same."""

    bytes_not_read: Mapping[str, int] = field(default_factory=dict, hash=False)
    """By kind of annotation."""

    nanoseconds_reading: int = 0
    """CPU time of reading :attr:`bytes_read`; 0 if it is not measured."""

    nanoseconds_deciding: Mapping[str, int] = field(default_factory=dict, hash=False)
    """CPU time of evaluating annotations other than match lists, by kind."""

    def __post_init__(self) -> None:
        _check_number(self.documents)
        counts = (
            self.bytes_read,
            self.nanoseconds_reading,
            *self.bytes_not_read.values(),
            *self.nanoseconds_deciding.values(),
        )
        if not all(type(count) is int and count >= 0 for count in counts):
            raise error("routing.message", "a number of bytes or a time is negative or no number")


RouterMessage: TypeAlias = (
    SubscriptionDelta
    | DigestRequest
    | DigestConfirmation
    | SubscriptionSnapshot
    | ForwardedDocument
    | AnnotationReport
)
"""All messages."""


def _check_number(number: int) -> None:
    if type(number) is not int or number < 1:
        raise error("routing.message", "documents are counted and requests numbered from 1")


def _check_digest(digest: str) -> None:
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise error("routing.message", "a digest of a set has 32 hexadecimal digits")


def _check_keys(keys: tuple[str, ...]) -> None:
    if type(keys) is not tuple or not all(type(key) is str for key in keys):
        raise error("routing.message", "patterns are sent as a tuple of their keys")
