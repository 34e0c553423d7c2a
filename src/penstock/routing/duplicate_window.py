"""Recognises documents that arrived before."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from penstock.routing.limits import RouterLimits
from penstock.routing.state_changes import ForgottenPublisher, RememberedIdentity, WindowChange


class DuplicateWindow:
    """The identities of each publisher's latest documents.

    Older ones are evicted many at a time: evicting one with each document would access memory that
    was last used thousands of documents before.

    Examples
    --------
    >>> window = DuplicateWindow(RouterLimits())
    >>> window.add("wire", bytes(16)), window.add("wire", bytes(16))
    (True, False)
    """

    def __init__(
        self, limits: RouterLimits, state: Iterable[tuple[str, Iterable[bytes]]] = ()
    ) -> None:
        self._documents_min = limits.remembered_documents
        self._publishers_max = limits.remembered_publishers
        # In order of insertion: the first publisher has been silent for the longest.
        self._by_publisher = {publisher: dict.fromkeys(seen) for publisher, seen in state}
        """The digests of each publisher's documents, in their order of arrival."""
        self._latest = next(reversed(self._by_publisher), None)
        """The publisher of the last document."""
        self.forgotten = 0
        """Number of publishers that were forgotten."""
        self.changes: list[WindowChange] | None = None
        """Where changes are recorded, if anywhere."""

    def add(self, publisher: str, digest: bytes) -> bool:
        """Remember a document by the digest of its identity; returns whether it is new."""
        if publisher == self._latest:
            seen = self._by_publisher[publisher]
        else:
            known = self._by_publisher.pop(publisher, None)
            seen = {} if known is None else known
            self._by_publisher[publisher] = seen
            self._latest = publisher
        if digest in seen:
            if self.changes is not None:
                self.changes.append(RememberedIdentity(publisher, None, None))
            return False
        seen[digest] = None
        if self.changes is not None:
            self.changes.append(RememberedIdentity(publisher, digest, None))
        if len(seen) > 2 * self._documents_min:
            self._evict(publisher, seen)
        if len(self._by_publisher) > self._publishers_max:
            oldest = next(iter(self._by_publisher))
            del self._by_publisher[oldest]
            self._latest = None
            self.forgotten += 1
            if self.changes is not None:
                self.changes.append(ForgottenPublisher(oldest))
        return True

    def _evict(self, publisher: str, seen: dict[bytes, None]) -> None:
        """Forgets all documents of a publisher but the latest."""
        excess = len(seen) - self._documents_min
        if self.changes is not None:
            self.changes += [
                RememberedIdentity(publisher, None, old) for old in islice(seen, excess)
            ]
        # A new dictionary: after deletions, the old one would search its first entry for long.
        self._by_publisher[publisher] = dict.fromkeys(islice(seen, excess, None))

    def state(self) -> tuple[tuple[str, tuple[bytes, ...]], ...]:
        """Publishers and digests of identities, oldest first."""
        return tuple((publisher, tuple(seen)) for publisher, seen in self._by_publisher.items())
