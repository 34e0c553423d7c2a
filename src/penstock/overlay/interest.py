"""Interest: what a peer wants, as far as the protocol knows.

The protocol never looks into an interest. It forms unions, asks whether one covers another, and
matches documents, all through an :class:`InterestModel`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

__all__ = ["AnyInterest", "Interest", "InterestModel", "OverlayDocument", "Summary"]

OverlayDocument: TypeAlias = Any
"""A document, as a model defines it. The protocol passes it on unchanged."""

AnyInterest: TypeAlias = Any
"""An interest of the model at hand: models do not mix."""


class Interest(ABC):
    """A description of a set of documents. Immutable, and hashable by its digest."""

    __slots__ = ()

    @property
    @abstractmethod
    def digest(self) -> str:
        """Identifies the interest: equal digests, equal interests."""


class Summary(Protocol):
    """What a peer remembers of the documents of its window, to estimate what a query matches."""

    def observe(self, sequence: int, document: OverlayDocument) -> None:
        """Add a document; sequence numbers ascend."""

    def look_up(self, interest: AnyInterest, first: int, last: int) -> int:
        """The documents ``first`` to ``last`` that an interest matches, as far as known: bit ``i``
        stands for sequence number ``first + i``. No document that matches is left out, unless it
        was evicted."""

    def clear(self) -> None:
        """Forget everything: the sequence starts anew."""

    @property
    def evicted(self) -> int:
        """How much was evicted at limits, before it left the window."""


class InterestModel(Protocol):
    """A language of interests, and documents that it matches."""

    @property
    def nothing(self) -> Interest:
        """The interest that no document matches."""

    def union(self, interests: Iterable[AnyInterest]) -> Interest:
        """An interest that covers all given ones; it may be more general than their union."""

    def covers(self, interest: AnyInterest, other: AnyInterest) -> bool:
        """Whether every document that matches ``other`` matches ``interest``; ``False`` if that is
        not proved."""

    def matches(self, interest: AnyInterest, document: OverlayDocument) -> bool:
        """Whether a document matches. Must be exact."""

    def similarity(self, interest: AnyInterest, other: AnyInterest) -> float:
        """Structural overlap from 0 to 1, for the time before there are statistics."""

    def new_summary(self, window: int) -> Summary:
        """A summary of the last ``window`` sequence numbers."""

    def size(self, document: OverlayDocument) -> int:
        """Bytes of a document, for the bounds of buffers."""

    def encode_interest(self, interest: AnyInterest) -> bytes:
        """The interest as bytes, for a message."""

    def decode_interest(self, encoded: bytes) -> Interest:
        """The interest of :meth:`encode_interest`, or the error ``overlay.message``."""

    def encode_document(self, document: OverlayDocument) -> tuple[bytes, bytes]:
        """A document as header and body, for a message."""

    def decode_document(self, header: bytes, body: bytes) -> OverlayDocument:
        """The document of :meth:`encode_document`, or the error ``overlay.message``."""
