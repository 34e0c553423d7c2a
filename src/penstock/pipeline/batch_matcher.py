"""Matches a batch of documents, as Arrow arrays. Independent of Spark.

A match refers to its subscription by the row number in the version's table, so the subscriber and
options are looked up by position instead of a join.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Fragment, Header
from penstock.documents.failure_report import PROCESS_EXITS, internal_error
from penstock.errors import DocumentError
from penstock.matching import BatchMatches
from penstock.matching.batch import error_array
from penstock.mediation import MappingChooser
from penstock.pipeline.document_mappings import NO_MAPPINGS, BatchMappings, choose_mappings
from penstock.pipeline.fragment_rows import FragmentRows
from penstock.pipeline.limits import DOCUMENT_FRAGMENT_BYTES_MAX, SLICE_FRAGMENT_BYTES
from penstock.pipeline.sent_index import OpenIndex
from penstock.workspace.index_versions import OpenVersion
from penstock.workspace.limits import DELIVERY_FRAGMENTS_MAX
from penstock.workspace.table_schemas import FRAGMENTS, TIME

SLICE_BYTES: Final = 4 << 20
"""Approximate bytes of documents that are matched at a time."""

_HEADER_COLUMNS: Final = ("publisher", "schema", "fields")

Numbers = npt.NDArray[np.int64]
Value = TypeVar("Value")

FragmentChoice: TypeAlias = Literal["none", "requested", "all"]
"""The matches whose fragments are computed: none, those whose subscription requests fragments, or
all."""


def split_by_bytes(batch: pa.RecordBatch, content: str = "content") -> Iterator[pa.RecordBatch]:
    """Split a batch between rows into slices of about :data:`SLICE_BYTES`.

    The matches of a batch can have a thousand times its rows, and Spark's limits on the input batch
    do not bound them.
    """
    ends = np.cumsum(byte_lengths(batch.column(content)).to_numpy(zero_copy_only=False))
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        end = int(np.searchsorted(ends, before + SLICE_BYTES, side="right"))
        end = max(end, start + 1)
        yield batch.slice(start, end - start)
        start = end


def byte_lengths(contents: pa.Array[Any]) -> pa.Array[Any]:
    """The length of each document in bytes; 0 for null."""
    compute: Any = pc
    lengths: pa.Array[Any] = compute.fill_null(compute.binary_length(contents), 0).cast(pa.int64())
    return lengths


@dataclass(frozen=True, slots=True)
class BatchOutcomes:
    """The matches and errors of a batch of documents."""

    document_rows: Numbers
    """The row of each match's document in the batch, ascending."""

    subscription_rows: Numbers
    """The row of each match's subscription in the version's table."""

    errors: pa.StructArray
    """One row per document, of :data:`~penstock.matching.batch.ERROR_TYPE`: null if accepted."""

    mappings: BatchMappings
    """The mappings that the documents were matched with."""

    unknown_elements: Numbers
    """For each document, the number of elements that its mapping's schema does not define."""

    set_aside: Mapping[int, Numbers] = field(default_factory=dict)
    """By row of a document: the rows of the subscriptions that were set aside for it."""

    fragments_omitted: Mapping[int, int] = field(default_factory=dict)
    """By row of a document: the number of fragments that were omitted because of a limit."""

    @property
    def match_counts(self) -> Numbers:
        """The number of matches of each document."""
        return np.bincount(self.document_rows, minlength=len(self.errors)).astype(np.int64)

    def of(self, documents: range) -> BatchOutcomes:
        """The outcomes of some successive documents, as if they were the batch."""
        if documents == range(len(self.errors)):
            return self
        first, last = np.searchsorted(self.document_rows, [documents.start, documents.stop])
        errors: Any = self.errors.slice(documents.start, len(documents))
        return BatchOutcomes(
            self.document_rows[first:last] - documents.start,
            self.subscription_rows[first:last],
            errors,
            self.mappings.of_rows(documents),
            self.unknown_elements[documents.start : documents.stop],
            _in_rows(self.set_aside, documents),
            _in_rows(self.fragments_omitted, documents),
        )

    def without(self, refused: Mapping[int, DocumentError]) -> BatchOutcomes:
        """The outcomes with some more documents refused, which then match nothing."""
        if not refused:
            return self
        is_kept = ~np.isin(self.document_rows, list(refused))
        omitted = {row: n for row, n in self.fragments_omitted.items() if row not in refused}
        return replace(
            self,
            document_rows=self.document_rows[is_kept],
            subscription_rows=self.subscription_rows[is_kept],
            errors=_with_errors(self.errors, refused),
            fragments_omitted=omitted,
        )


class DeliveredDocuments(NamedTuple):
    """Some successive documents of a batch, with the fragments of their matches."""

    rows: range
    """The rows of the documents in the batch."""

    outcomes: BatchOutcomes
    """Their outcomes, as if they were the batch."""

    fragments: pa.Array[Any]
    """The fragments of each match; null where they are not wanted or too large."""


class BatchMatcher:
    """Matches batches against one index version or index.

    Parameters
    ----------
    version
        The subscriptions.
    at
        Decides which subscriptions have started and not expired; ``None`` to match all.
    chooser
        Chooses each document's mapping by its header; ``None`` to match without mappings.
    """

    def __init__(
        self,
        version: OpenVersion | OpenIndex,
        at: datetime | None = None,
        chooser: MappingChooser | None = None,
    ) -> None:
        self.version = version
        self._chooser = chooser
        self._active = None if at is None else _active_mask(version.subscriptions, at)

    def match(
        self, batch: pa.RecordBatch, refused: Mapping[int, DocumentError] | None = None
    ) -> BatchOutcomes:
        """Match each document of a batch, with the mapping that its header selects.

        A document whose processing fails unexpectedly is refused with ``internal.error``.

        Parameters
        ----------
        batch
            The documents.
        refused
            Errors of documents that are not to be read, by row.
        """
        contents = batch.column("content")
        mappings = choose_mappings(batch, self._chooser)
        if refused:
            mappings = replace(mappings, refused={**mappings.refused, **refused})
        if mappings.refused:  # a null is not read
            compute: Any = pc
            null = pa.scalar(None, contents.type)
            contents = compute.if_else(_mask(mappings.refused, len(contents)), null, contents)
        headers = self._headers(batch)
        try:
            matched = self._match(contents, mappings, headers)
        except PROCESS_EXITS:
            raise
        except BaseException:
            matched = self._match_individually(contents, mappings, headers)
        errors = _with_errors(matched.errors, mappings.refused)
        return replace(matched, errors=errors, mappings=mappings)

    def _headers(self, batch: pa.RecordBatch) -> list[Header]:
        """The headers of the documents, if some subscription tests them."""
        has_headers = set(_HEADER_COLUMNS) <= set(batch.schema.names)
        if not self.version.matcher.tests_headers or not has_headers:
            return []
        columns: Any = (batch.column(name).to_pylist() for name in _HEADER_COLUMNS)
        return [
            Header(publisher=publisher or "", schema=schema or "", fields=dict(fields or ()))
            for publisher, schema, fields in zip(*columns, strict=True)
        ]

    def _match(
        self, contents: pa.Array[Any], mappings: BatchMappings, headers: Sequence[Header]
    ) -> BatchOutcomes:
        if mappings.mappings:
            matches = self.version.mediated.match_batch(contents, mappings.mappings, headers)
        else:
            matches = self.version.matcher.match_batch(contents, headers)
        ids: Any = matches.ids.values
        rows_of_ids = self.version.numbers_of(ids.dictionary)
        subscription_rows = rows_of_ids[ids.indices.to_numpy(zero_copy_only=False)]
        offsets = matches.ids.offsets.to_numpy(zero_copy_only=False)
        document_rows = np.repeat(np.arange(len(contents)), np.diff(offsets))
        if self._active is not None:
            kept = self._active[subscription_rows]
            document_rows, subscription_rows = document_rows[kept], subscription_rows[kept]
        unknown_elements = np.zeros(len(contents), np.int64)
        unknown_elements[list(matches.unknown)] = list(matches.unknown.values())
        return BatchOutcomes(
            document_rows,
            subscription_rows,
            matches.errors,
            mappings,
            unknown_elements,
            self._set_aside(matches),
        )

    def _set_aside(self, matches: BatchMatches) -> Mapping[int, Numbers]:
        rows = {
            row: self.version.numbers_of(pa.array(ids, pa.string()))
            for row, ids in matches.set_aside.items()
        }
        if self._active is None:
            return rows
        return {row: numbers[self._active[numbers]] for row, numbers in rows.items()}

    def _match_individually(
        self, contents: pa.Array[Any], mappings: BatchMappings, headers: Sequence[Header]
    ) -> BatchOutcomes:
        """Match documents one at a time, because one of them failed unexpectedly."""
        parts = []
        for row in range(len(contents)):
            content = contents.slice(row, 1)
            mapping = mappings.mappings[row : row + 1]
            try:
                part = self._match(content, BatchMappings(mapping), headers[row : row + 1])
            except PROCESS_EXITS:
                raise
            except BaseException as failure:
                document: Any = content[0]
                part = _refused(internal_error(failure, document.as_py()))
            parts.append(replace(part, document_rows=part.document_rows + row))
        errors: Any = pa.concat_arrays([part.errors for part in parts])
        return BatchOutcomes(
            np.concatenate([part.document_rows for part in parts]),
            np.concatenate([part.subscription_rows for part in parts]),
            errors,
            mappings,
            np.concatenate([part.unknown_elements for part in parts]),
            {row: part.set_aside[0] for row, part in enumerate(parts) if part.set_aside},
        )

    def subscription_columns(
        self, outcomes: BatchOutcomes, columns: Sequence[str]
    ) -> list[pa.Array[Any]]:
        """Columns of the subscriptions table, one row per match."""
        numbers: Any = pa.array(outcomes.subscription_rows)
        taken = self.version.rows(numbers, columns)
        return [_combined(taken.column(name)) for name in columns]

    def set_aside_column(self, outcomes: BatchOutcomes) -> pa.Array[Any]:
        """For each document, the ids of the subscriptions that were set aside; null for none."""
        names: list[list[str] | None] = [None] * len(outcomes.errors)
        for row, numbers in outcomes.set_aside.items():
            rows: Any = pa.array(numbers)
            subscriptions: Any = self.version.rows(rows, ["subscription"]).column(0)
            names[row] = subscriptions.to_pylist() or None
        return pa.array(names, pa.list_(pa.string()))

    def with_fragments(
        self, contents: pa.Array[Any], outcomes: BatchOutcomes, choice: FragmentChoice
    ) -> Iterator[DeliveredDocuments]:
        """The documents of a batch, divided where their fragments are too large for one array.

        Each part has about :data:`~penstock.pipeline.limits.SLICE_FRAGMENT_BYTES`. Fragments are
        null where they are not wanted. Also null where they cannot be determined in bounded memory,
        the answers of a keyword query with OR in a document that is too large, or within the
        document's work budget, and where those of the document exceed
        :data:`~penstock.pipeline.limits.DOCUMENT_FRAGMENT_BYTES_MAX`. The complete document is
        delivered instead. Past the limit of the subscription, by default
        :data:`~penstock.workspace.limits.DELIVERY_FRAGMENTS_MAX`, or past
        :data:`~penstock.workspace.limits.DELIVERY_FRAGMENT_BYTES_MAX` bytes, a last fragment states
        how many are omitted.

        A document whose fragments cannot be determined because of an error is refused with it.
        """
        matches = np.flatnonzero(self._wanted(outcomes, choice))
        limits: list[int | None] = []
        if len(matches):
            limits = self.subscription_columns(outcomes, ["fragments_max"])[0].to_pylist()
        part = _FragmentPart(0)
        for of_document in np.split(matches, _boundaries(outcomes.document_rows[matches])):
            if len(of_document) == 0:
                continue
            row = int(outcomes.document_rows[of_document[0]])
            if part.fragments.size >= SLICE_FRAGMENT_BYTES:
                yield from self._delivered(contents, outcomes, choice, part, row)
                part = _FragmentPart(row, int(np.searchsorted(outcomes.document_rows, row)))
            document: Any = contents[row]
            content = document.as_py()
            ids = self.version.ids_of(outcomes.subscription_rows[of_document])
            try:
                selected = self.version.mediated.select(content, outcomes.mappings.of(row), ids)
                part.add(row, of_document, [selected.get(id_) for id_ in ids], limits)
            except PROCESS_EXITS:
                raise
            except BaseException as failure:
                part.refused[row] = internal_error(failure, content)
        yield from self._delivered(contents, outcomes, choice, part, len(contents))

    def _delivered(
        self,
        contents: pa.Array[Any],
        outcomes: BatchOutcomes,
        choice: FragmentChoice,
        part: _FragmentPart,
        end: int,
    ) -> Iterator[DeliveredDocuments]:
        """A part that ends before a row."""
        rows = range(part.start, end)
        kept = outcomes.of(rows)
        try:
            fragments = part.fragments.array(len(kept.document_rows))
        except PROCESS_EXITS:
            raise
        except BaseException as failure:
            if len(rows) > 1:  # one document at a time, because one of them is the cause
                for row in rows:
                    one = outcomes.of(range(row, row + 1))
                    for each in self.with_fragments(contents.slice(row, 1), one, choice):
                        yield each._replace(rows=range(row, row + 1))
                return
            document: Any = contents[part.start]
            part.refused[part.start] = internal_error(failure, document.as_py())
            fragments = pa.nulls(len(kept.document_rows), FRAGMENTS)
        if part.omitted.total():
            omitted = {row - part.start: count for row, count in part.omitted.items()}
            kept = replace(kept, fragments_omitted=omitted)
        if part.refused:
            refused = {row - part.start: reason for row, reason in part.refused.items()}
            is_kept = ~np.isin(kept.document_rows, list(refused))
            fragments = fragments.filter(pa.array(is_kept))
            kept = kept.without(refused)
        yield DeliveredDocuments(rows, kept, fragments)

    def _wanted(self, outcomes: BatchOutcomes, choice: FragmentChoice) -> npt.NDArray[np.bool_]:
        """Whether the fragments of each match are wanted."""
        if choice != "requested":
            return np.full(len(outcomes.document_rows), choice == "all")
        compute: Any = pc
        (returns,) = self.subscription_columns(outcomes, ["returns"])
        wanted: npt.NDArray[np.bool_] = compute.equal(returns, "fragments").to_numpy(
            zero_copy_only=False
        )
        return wanted


def _with_errors(errors: pa.StructArray, refused: Mapping[int, DocumentError]) -> pa.StructArray:
    """The errors of a batch, with those of refused documents in their rows."""
    if not refused:
        return errors
    compute: Any = pc
    added = error_array(refused, len(errors))
    merged: pa.StructArray = compute.if_else(_mask(refused, len(errors)), added, errors)
    return merged


def _refused(reason: DocumentError) -> BatchOutcomes:
    """The outcome of one document that is refused."""
    nothing = np.zeros(0, np.int64)
    errors = error_array({0: reason}, 1)
    return BatchOutcomes(nothing, nothing, errors, NO_MAPPINGS, np.zeros(1, np.int64))


class _FragmentPart:
    """Collects the fragments of successive documents."""

    def __init__(self, start: int, first_match: int = 0) -> None:
        self.start = start
        """The row of the first document."""
        self._first_match = first_match
        """The first match of the documents from this row on."""
        self.fragments = FragmentRows()
        self.omitted: Counter[int] = Counter()
        """By row of a document: the number of fragments that were omitted."""
        self.refused: dict[int, DocumentError] = {}

    def add(
        self,
        row: int,
        matches: Numbers,
        selected: Sequence[Sequence[Fragment] | None],
        limits: Sequence[int | None],
    ) -> None:
        """Add the fragments of a document's matches, as far as they are determined."""
        size_max = self.fragments.size + DOCUMENT_FRAGMENT_BYTES_MAX
        for match, fragments in zip(matches.tolist(), selected, strict=True):
            if fragments is not None:
                self.omitted[row] += self.fragments.add(
                    match - self._first_match,
                    fragments,
                    limits[match] or DELIVERY_FRAGMENTS_MAX,
                    size_max=size_max,
                )


def _in_rows(values: Mapping[int, Value], documents: range) -> dict[int, Value]:
    """Values by row, of some documents, with rows that count from the first of them."""
    return {row - documents.start: value for row, value in values.items() if row in documents}


def _mask(rows: Mapping[int, object], length: int) -> pa.BooleanArray:
    mask: pa.BooleanArray = pa.array([row in rows for row in range(length)])
    return mask


def _combined(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    combined: pa.Array[Any] = column.combine_chunks()
    return combined


def _boundaries(values: Numbers) -> Numbers:
    """The positions at which a value differs from the previous one."""
    return np.flatnonzero(np.diff(values)) + 1


def _active_mask(subscriptions: pa.Table, at: datetime) -> npt.NDArray[np.bool_] | None:
    """Which subscriptions have started and not expired; ``None`` if all are unlimited."""
    starts, expires = subscriptions.column("starts_at"), subscriptions.column("expires_at")
    if starts.null_count == expires.null_count == len(subscriptions):
        return None
    compute: Any = pc
    now = pa.scalar(at, TIME)
    has_started = compute.fill_null(compute.less_equal(starts, now), True)
    is_unexpired = compute.fill_null(compute.greater(expires, now), True)
    mask: npt.NDArray[np.bool_] = compute.and_(has_started, is_unexpired).to_numpy()
    return mask
