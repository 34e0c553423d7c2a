"""What the references of every kind of query have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from penstock.documents import Limits
from penstock.documents.reference import reader
from penstock.documents.reference.reader import Reading
from penstock.errors import DocumentError, QueryError, error
from penstock.matching.engine import BatchOutcome, Buffer, Outcome
from penstock.matching.results import NO_WORK


class PlainEntry(Protocol):
    """A subscription."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def text(self) -> str:
        """Its query as it was given."""


Entry = TypeVar("Entry", bound=PlainEntry)


class PlainIndex(Generic[Entry]):
    """Subscriptions by id, in the order in which they came."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.id: entry for entry in entries}
        self._lock = threading.Lock()

    def _add_each(
        self, ids: Sequence[str], queries: Sequence[str], make: Callable[[str, str], Entry]
    ) -> Mapping[int, QueryError]:
        """Add what can be added; the errors of the rest by position."""
        errors: dict[int, QueryError] = {}
        for position, (name, text) in enumerate(zip(ids, queries, strict=True)):
            try:
                with self._lock:
                    self._refuse_duplicate(name)
                    self._entries[name] = make(name, text)
            except QueryError as reason:
                errors[position] = reason
        return errors

    def _refuse_duplicate(self, name: str) -> None:
        if name in self._entries:
            raise error("subscription.duplicate", f"there is a subscription `{name}` already")

    def remove(self, subscription: str) -> bool:
        """Remove a subscription; whether there was one."""
        with self._lock:
            return self._entries.pop(subscription, None) is not None

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""
        return subscription in self._entries

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query as it was given."""
        found = self._entries.get(subscription)
        return found.text if found else None

    def __len__(self) -> int:
        return len(self._entries)

    def _snapshot(self) -> list[Entry]:
        with self._lock:
            return list(self._entries.values())


def batch_of(outcomes: Iterable[Outcome]) -> BatchOutcome:
    """What became of documents that were matched one by one."""
    offsets, indices, work = [0], [], NO_WORK
    dictionary: dict[str, int] = {}
    errors: dict[int, DocumentError] = {}
    unknown: dict[int, int] = {}
    for row, outcome in enumerate(outcomes):
        if outcome.error is not None:
            errors[row] = outcome.error
        indices += [dictionary.setdefault(name, len(dictionary)) for name in outcome.handles.ids()]
        offsets.append(len(indices))
        work += outcome.work
        if outcome.work.unknown:
            unknown[row] = outcome.work.unknown
    return BatchOutcome(
        list_offsets=pa.array(offsets, pa.int32()),
        indices=pa.array(indices, pa.int32()),
        ids=pa.array(dictionary.keys(), pa.string()),
        errors=errors,
        work=work,
        unknown=unknown,
    )


class PlainMatcher(ABC):
    """Matches documents one at a time, each of them in memory."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @abstractmethod
    def match(self, document: Buffer) -> Outcome:
        """Match a document that is in memory."""

    def match_file(self, path: str | PathLike[str]) -> Outcome:
        """Match a file's content, all of it in memory."""
        return self.match(Path(path).read_bytes())

    def match_chunks(self, chunks: Iterable[Buffer]) -> Outcome:
        """Match a document that comes in pieces, all of it in memory."""
        return self.match(b"".join(chunks))

    def match_batch(self, documents: pa.LargeBinaryArray) -> BatchOutcome:
        """Match each document of an array without nulls."""
        return batch_of(self.match(memoryview(row.as_buffer())) for row in documents)

    def _read(self, document: Buffer) -> Reading:
        """The document by the reference reader: no engine's view but the plain one."""
        return reader.read(bytes(document), self.limits, {}, False)
