"""Documents that wait for the link to a neighbour."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal, TypeAlias

from penstock.routing.limits import RouterLimits
from penstock.routing.router_messages import ForwardedDocument
from penstock.routing.state_changes import QueueChanges

OverflowPolicy: TypeAlias = Literal["discard-oldest", "discard-newest"]
"""Which document is discarded when too many wait for a link."""


class ForwardQueue:
    """A bounded queue of documents, in the order in which they are forwarded.

    Examples
    --------
    >>> from penstock.documents import Document, Header
    >>> queue = ForwardQueue(RouterLimits(waiting_documents=1), "discard-oldest")
    >>> first, second = (
    ...     ForwardedDocument(document=Document(each, Header(publisher="p")))
    ...     for each in (b"<a/>", b"<b/>")
    ... )
    >>> queue.append(first)
    ()
    >>> queue.append(second) == (first,), queue.drain() == (second,)
    (True, True)
    """

    def __init__(
        self,
        limits: RouterLimits,
        policy: OverflowPolicy,
        documents: Iterable[ForwardedDocument] = (),
    ) -> None:
        self._limits = limits
        self._policy = policy
        self._documents = deque(documents)
        self._bytes = sum(map(_size, self._documents))
        self._first = 0
        """Position of the first document; the others follow."""
        self.changes: QueueChanges | None = None
        """Where changes are recorded, if anywhere."""

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def documents(self) -> tuple[ForwardedDocument, ...]:
        """The waiting documents."""
        return tuple(self._documents)

    def append(self, document: ForwardedDocument) -> tuple[ForwardedDocument, ...]:
        """Add a document; returns those that are discarded."""
        if self.changes is not None:
            self.changes.add(self._first + len(self._documents), document)
        self._documents.append(document)
        self._bytes += _size(document)
        return self._discard()

    def prepend(self, documents: Iterable[ForwardedDocument]) -> tuple[ForwardedDocument, ...]:
        """Add documents that were sent before the others; returns those that are discarded."""
        for document in reversed(tuple(documents)):
            self._first -= 1
            if self.changes is not None:
                self.changes.add(self._first, document)
            self._documents.appendleft(document)
            self._bytes += _size(document)
        return self._discard()

    def drain(self) -> tuple[ForwardedDocument, ...]:
        """Remove and return all documents."""
        drained = self.documents
        if self.changes is not None:
            for position in range(self._first, self._first + len(drained)):
                self.changes.remove(position)
        self._documents.clear()
        self._bytes = 0
        return drained

    def _discard(self) -> tuple[ForwardedDocument, ...]:
        discarded: list[ForwardedDocument] = []
        while len(self._documents) > 1 and (
            len(self._documents) > self._limits.waiting_documents
            or self._bytes > self._limits.waiting_bytes
        ):
            is_oldest = self._policy == "discard-oldest"
            position = self._first if is_oldest else self._first + len(self._documents) - 1
            one = self._documents.popleft() if is_oldest else self._documents.pop()
            self._first += is_oldest
            if self.changes is not None:
                self.changes.remove(position)
            self._bytes -= _size(one)
            discarded.append(one)
        return tuple(discarded)


def _size(document: ForwardedDocument) -> int:
    return len(document.document.content)
