"""Recognises documents that arrived before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from penstock.documents import Document
from penstock.routing.limits import RouterLimits
from penstock.routing.state_changes import ForgottenPublisher, RememberedIdentity, WindowChange


def identity_digest(document: Document) -> bytes:
    """16 bytes that identify a document."""
    return hashlib.blake2b(document.identity.encode(), digest_size=16).digest()


class DuplicateWindow:
    """The identities of each publisher's latest documents.

    Examples
    --------
    >>> from penstock.documents import Header
    >>> window = DuplicateWindow(RouterLimits())
    >>> document = Document(b"<a/>", Header(publisher="wire", id="7"))
    >>> digest = identity_digest(document)
    >>> window.add("wire", digest), window.add("wire", digest)
    (True, False)
    """

    def __init__(
        self, limits: RouterLimits, state: Iterable[tuple[str, Iterable[bytes]]] = ()
    ) -> None:
        self._limits = limits
        # Both dictionaries are in order of insertion: the first entry is the oldest.
        self._by_publisher = {publisher: dict.fromkeys(seen) for publisher, seen in state}
        self.forgotten = 0
        """Number of publishers that were forgotten."""
        self.changes: list[WindowChange] | None = None
        """Where changes are recorded, if anywhere."""

    def add(self, publisher: str, digest: bytes) -> bool:
        """Remember a document by the digest of its identity; returns whether it is new."""
        seen = self._by_publisher.pop(publisher, {})
        self._by_publisher[publisher] = seen
        if digest in seen:
            if self.changes is not None:
                self.changes.append(RememberedIdentity(publisher, None, None))
            return False
        seen[digest] = None
        evicted = None
        if len(seen) > self._limits.remembered_documents:
            evicted = next(iter(seen))
            del seen[evicted]
        if self.changes is not None:
            self.changes.append(RememberedIdentity(publisher, digest, evicted))
        if len(self._by_publisher) > self._limits.remembered_publishers:
            oldest = next(iter(self._by_publisher))
            del self._by_publisher[oldest]
            self.forgotten += 1
            if self.changes is not None:
                self.changes.append(ForgottenPublisher(oldest))
        return True

    def state(self) -> tuple[tuple[str, tuple[bytes, ...]], ...]:
        """Publishers and digests of identities, oldest first."""
        return tuple((publisher, tuple(seen)) for publisher, seen in self._by_publisher.items())
