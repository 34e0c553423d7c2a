"""Matches Arrow arrays of documents."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import DocumentError
from penstock.matching.engine import BatchOutcome
from penstock.matching.header_tests import HeaderFields
from penstock.matching.results import Counters, Work

BinaryArray: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
"""Documents, one per row, as ``binary`` or ``large_binary``."""

ERROR_TYPE = pa.struct(
    [
        pa.field("code", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("offset", pa.int64()),
        pa.field("line", pa.int64()),
        pa.field("column", pa.int64()),
        pa.field("hint", pa.string(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("report", pa.string()),
    ]
)
"""The reason of a refusal; the position is null if the row holds no document. ``path`` are the open
elements at the position, ``report`` is only present for the codes ``internal.*``."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchMatches:
    """The matches of a batch, one row per document."""

    ids: pa.ListArray[Any]
    """Lists of dictionary-encoded strings; empty for refused documents."""
    errors: pa.StructArray
    """Of type :data:`ERROR_TYPE`; null for well-formed documents."""
    counters: Counters
    unknown: Mapping[int, int] = field(default_factory=dict)
    """For documents matched through a mapping: the number of elements that the mapping's local
    schema does not define, by row; rows with 0 are omitted."""
    set_aside: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The ids of subscriptions that were set aside, by row; see :attr:`Matches.set_aside`."""

    def __len__(self) -> int:
        return len(self.ids)

    def to_record_batch(self) -> pa.RecordBatch:
        """The columns ``ids`` and ``error``, aligned with the documents."""
        return pa.RecordBatch.from_arrays([self.ids, self.errors], names=["ids", "error"])


class BatchEngine(Protocol):
    """An engine that matches batches without nulls."""

    def match_batch(
        self, documents: pa.LargeBinaryArray, headers: Sequence[HeaderFields] = ()
    ) -> BatchOutcome:
        """Match each document of an array without nulls; ``headers`` has one per row, or none."""


def match_batch(
    matcher: BatchEngine, documents: BinaryArray, headers: Sequence[HeaderFields] = ()
) -> BatchMatches:
    """Match each document of an array; a null or refused document becomes an error of its row."""
    if headers and len(headers) != len(documents):
        raise ValueError(f"{len(headers)} headers for {len(documents)} documents")
    array = _one_array(documents)
    present = array.drop_null() if array.null_count else array
    if headers and array.null_count:
        headers = [headers[row] for row in _rows(array.is_valid())]
    outcome = matcher.match_batch(present, headers)
    rows = _rows(array.is_valid()) if array.null_count else range(len(array))
    errors = {rows[position]: reason for position, reason in outcome.errors.items()}
    for row in _rows(array.is_null()) if array.null_count else ():
        errors[row] = DocumentError("document.missing", "the row holds no document")
    ids = _lists(outcome, rows, len(array))
    return BatchMatches(
        ids=ids,
        errors=error_array(errors, len(array)),
        counters=_counters(ids, refused=len(errors), work=outcome.work),
        unknown={rows[position]: count for position, count in outcome.unknown.items()},
        set_aside={rows[position]: ids for position, ids in outcome.set_aside.items()},
    )


def _one_array(documents: BinaryArray) -> pa.LargeBinaryArray:
    """Converts to one array with 64-bit offsets, the input of every engine."""
    if not (pa.types.is_binary(documents.type) or pa.types.is_large_binary(documents.type)):
        raise TypeError(f"documents must be an array of binary, not of {documents.type}")
    array: object = documents.cast(pa.large_binary())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    assert isinstance(array, pa.LargeBinaryArray)
    return array


def _rows(mask: pa.BooleanArray) -> list[int]:
    """The rows where the mask is true."""
    return [row for row, true in enumerate(mask.to_pylist()) if true]


def _lists(outcome: BatchOutcome, rows: Sequence[int], length: int) -> pa.ListArray[Any]:
    """The ids as lists; rows without a document get empty lists."""
    offsets = outcome.list_offsets
    if len(rows) < length:
        starts: list[Any] = offsets.to_pylist()
        lengths = [0] * length
        for row, (start, end) in zip(rows, itertools.pairwise(starts), strict=True):
            lengths[row] = end - start
        offsets = pa.array(itertools.accumulate(lengths, initial=0), pa.int32())
    values = pa.DictionaryArray.from_arrays(outcome.indices, outcome.ids)
    return pa.ListArray.from_arrays(offsets, values)


def error_array(errors: Mapping[int, DocumentError], length: int) -> pa.StructArray:
    """The errors by row, as an array of :data:`ERROR_TYPE`."""
    rows: list[dict[str, str | int | None] | None] = [None] * length
    for row, reason in errors.items():
        offset, line, column = reason.where or (None, None, None)
        rows[row] = {
            "code": reason.code,
            "message": reason.message,
            "offset": offset,
            "line": line,
            "column": column,
            "hint": reason.hint,
            "path": reason.path,
            "report": reason.report,
        }
    array: object = pa.array(rows, ERROR_TYPE)
    assert isinstance(array, pa.StructArray)
    return array


def _counters(ids: pa.ListArray[Any], *, refused: int, work: Work) -> Counters:
    lengths = pc.list_value_length(ids)
    unmatched_or_refused = pc.sum(pc.equal(lengths, pa.scalar(0, pa.int32()))).as_py() or 0
    return Counters(
        documents=len(ids),
        matched=len(ids) - unmatched_or_refused,
        unmatched=unmatched_or_refused - refused,
        refused=refused,
        matches=len(ids.flatten()),
        work=work,
    )
