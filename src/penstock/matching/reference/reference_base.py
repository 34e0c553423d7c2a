"""Base classes of the reference engines."""

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
from penstock.matching.header_tests import NO_FIELDS, HeaderFields
from penstock.matching.label_paths import label_paths_of
from penstock.matching.limits import LABEL_PATHS_MAX
from penstock.matching.reference.document_prefix import prefix_of
from penstock.matching.results import NO_WORK, ResolvedIds


class SubscriptionEntry(Protocol):
    """A parsed subscription."""

    @property
    def id(self) -> str:
        """The subscription's id."""

    @property
    def text(self) -> str:
        """The query text, as the caller wrote it."""

    @property
    def where(self) -> HeaderFields:
        """The header fields and values that it requires."""


Entry = TypeVar("Entry", bound=SubscriptionEntry)


class ReferenceIndexBase(Generic[Entry]):
    """Subscriptions by id, in insertion order."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.id: entry for entry in entries}
        self._lock = threading.Lock()

    def _add_each(
        self,
        ids: Sequence[str],
        queries: Sequence[str],
        where: Sequence[HeaderFields],
        make: Callable[[str, str, HeaderFields], Entry],
    ) -> Mapping[int, QueryError]:
        """Add all valid queries; returns the errors of the others by position."""
        errors: dict[int, QueryError] = {}
        tests = where or [NO_FIELDS] * len(ids)
        for position, (name, text, own) in enumerate(zip(ids, queries, tests, strict=True)):
            try:
                with self._lock:
                    self._refuse_duplicate(name)
                    self._entries[name] = make(name, text, own)
            except QueryError as reason:
                errors[position] = reason
        return errors

    def _refuse_duplicate(self, name: str) -> None:
        if name in self._entries:
            raise error("subscription.duplicate", f"a subscription `{name}` exists already")

    def remove(self, subscription: str) -> bool:
        """Remove a subscription; returns whether it existed."""
        with self._lock:
            return self._entries.pop(subscription, None) is not None

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""
        return subscription in self._entries

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query, as the caller wrote it."""
        found = self._entries.get(subscription)
        return found.text if found else None

    def __len__(self) -> int:
        return len(self._entries)

    def _snapshot(self) -> list[Entry]:
        with self._lock:
            return list(self._entries.values())


def batch_of(outcomes: Iterable[Outcome]) -> BatchOutcome:
    """Collects the outcomes of documents that were matched one by one."""
    offsets, indices, work = [0], [], NO_WORK
    dictionary: dict[str, int] = {}
    errors: dict[int, DocumentError] = {}
    unknown: dict[int, int] = {}
    set_aside: dict[int, Sequence[str]] = {}
    for row, outcome in enumerate(outcomes):
        if outcome.error is not None:
            errors[row] = outcome.error
        indices += [dictionary.setdefault(name, len(dictionary)) for name in outcome.handles.ids()]
        offsets.append(len(indices))
        work += outcome.work
        if outcome.work.unknown:
            unknown[row] = outcome.work.unknown
        if outcome.set_aside:
            set_aside[row] = outcome.set_aside
    return BatchOutcome(
        list_offsets=pa.array(offsets, pa.int32()),
        indices=pa.array(indices, pa.int32()),
        ids=pa.array(dictionary.keys(), pa.string()),
        errors=errors,
        work=work,
        unknown=unknown,
        set_aside=set_aside,
    )


class ReferenceMatcherBase(ABC):
    """Matches documents one at a time, in memory."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @abstractmethod
    def _match(self, reading: Reading, header: HeaderFields) -> Outcome:
        """Match a document that was read."""

    def match(self, document: Buffer, header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document in memory."""
        return self.match_observed(document, header)

    def match_observed(
        self,
        document: Buffer,
        header: HeaderFields = NO_FIELDS,
        *,
        label_paths: bool = False,
        stop_at: int | None = None,
    ) -> Outcome:
        """Match a document in memory up to an offset, and collect its label paths.

        The whole document must be well-formed.
        """
        try:
            reading = self._read(document)
        except DocumentError as reason:
            return Outcome(ResolvedIds(), error=reason)
        if stop_at is not None:
            reading = prefix_of(reading, stop_at)
        outcome = self._match(reading, header)
        if not label_paths:
            return outcome
        return outcome._replace(label_paths=label_paths_of(reading.events, LABEL_PATHS_MAX))

    def match_file(self, path: str | PathLike[str], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a file, reading it into memory."""
        return self.match(Path(path).read_bytes(), header)

    def match_chunks(self, chunks: Iterable[Buffer], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document that arrives in chunks, buffering it."""
        return self.match(b"".join(chunks), header)

    def match_batch(
        self, documents: pa.LargeBinaryArray, headers: Sequence[HeaderFields] = ()
    ) -> BatchOutcome:
        """Match each document of an array without nulls; ``headers`` has one per row, or none."""
        each = headers or [NO_FIELDS] * len(documents)
        rows = zip(documents, each, strict=True)
        return batch_of(self.match(memoryview(row.as_buffer()), header) for row, header in rows)

    def _read(self, document: Buffer) -> Reading:
        """Reads the document with the reference reader, independently of the native core."""
        return reader.read(bytes(document), self.limits, {}, False)
