"""Recognises documents that arrived before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from penstock.routing.limits import RouterLimits
from penstock.routing.state_changes import ForgottenPublisher, RememberedIdentity, WindowChange


class DuplicateWindow:
    """The identities of each publisher's latest documents.

    Examples
    --------
    >>> window = DuplicateWindow(RouterLimits())
    >>> window.add("wire", bytes(16)), window.add("wire", bytes(16))
    (True, False)
    """

    def __init__(
        self, limits: RouterLimits, state: Iterable[tuple[str, Iterable[bytes]]] = ()
    ) -> None:
        self._documents_max = limits.remembered_documents
        self._publishers_max = limits.remembered_publishers
        # In order of insertion: the first publisher has been silent for the longest.
        self._by_publisher = {publisher: _Identities(seen) for publisher, seen in state}
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
            seen = _Identities(()) if known is None else known
            self._by_publisher[publisher] = seen
            self._latest = publisher
        if digest in seen.known:
            if self.changes is not None:
                self.changes.append(RememberedIdentity(publisher, None, None))
            return False
        seen.known.add(digest)
        seen.order.append(digest)
        evicted = None
        if len(seen.order) > self._documents_max:
            evicted = seen.order.popleft()
            seen.known.discard(evicted)
        if self.changes is not None:
            self.changes.append(RememberedIdentity(publisher, digest, evicted))
        if len(self._by_publisher) > self._publishers_max:
            oldest = next(iter(self._by_publisher))
            del self._by_publisher[oldest]
            self._latest = None
            self.forgotten += 1
            if self.changes is not None:
                self.changes.append(ForgottenPublisher(oldest))
        return True

    def state(self) -> tuple[tuple[str, tuple[bytes, ...]], ...]:
        """Publishers and digests of identities, oldest first."""
        return tuple(
            (publisher, tuple(seen.order)) for publisher, seen in self._by_publisher.items()
        )


class _Identities:
    """Digests in their order of arrival.

    Not a dictionary: it would have to skip all evicted entries to find its first one.
    """

    __slots__ = ("known", "order")

    def __init__(self, digests: Iterable[bytes]) -> None:
        self.order = deque(dict.fromkeys(digests))
        self.known = set(self.order)
