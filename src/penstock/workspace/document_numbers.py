"""Counts the rows that refer to each stored document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from penstock.documents import Document


class DocumentNumbers:
    """Numbers of stored documents, and how many rows refer to each."""

    def __init__(self, counts: Mapping[int, int]) -> None:
        self._counts = Counter(counts)
        self._next = max(self._counts, default=0) + 1
        self._held: dict[int, tuple[Document, int, int]] = {}
        """Documents in memory that are stored, by ``id``: the document, its number, its uses."""

    def of(self, document: Document) -> int | None:
        """The number of a document that is held in memory."""
        held = self._held.get(id(document))
        return None if held is None else held[1]

    def new(self) -> int:
        """A number for a document."""
        self._next += 1
        return self._next - 1

    def refer(self, number: int, document: Document | None = None) -> None:
        """A row refers to a document; it is held if it is given."""
        self._counts[number] += 1
        if document is not None:
            uses = self._held.get(id(document), (document, number, 0))[2]
            self._held[id(document)] = (document, number, uses + 1)

    def is_used(self, number: int) -> bool:
        """Whether a row refers to a document."""
        return number in self._counts

    def release(self, number: int, document: Document | None = None) -> bool:
        """A row is removed; returns whether it was the last."""
        if document is not None and (held := self._held.get(id(document))) is not None:
            if held[2] > 1:
                self._held[id(document)] = (document, number, held[2] - 1)
            else:
                del self._held[id(document)]
        self._counts[number] -= 1
        if self._counts[number] > 0:
            return False
        del self._counts[number]
        return True
