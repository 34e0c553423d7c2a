"""What becomes of a batch of documents, as Arrow arrays: no Spark here.

A match is the number of a row in the version's table of subscriptions, so that subscriber and
options are found by taking rows, not by joining.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Fragment
from penstock.errors import DocumentError
from penstock.matching import BatchMatches
from penstock.matching.batch import error_array
from penstock.mediation import MappingChooser
from penstock.pipeline.document_mappings import Chosen, choose
from penstock.workspace.index_versions import OpenVersion
from penstock.workspace.limits import DELIVERY_FRAGMENTS_MAX
from penstock.workspace.table_schemas import FRAGMENTS, MORE, TIME

BATCH_BYTES_MAX: Final = 4 << 20
"""Documents are matched, and their matches handed on, about so many bytes at a time."""

Numbers = npt.NDArray[np.int64]


def slices(batch: pa.RecordBatch, content: str = "content") -> Iterator[pa.RecordBatch]:
    """Cut a batch into parts of about :data:`BATCH_BYTES_MAX`, never within a row.

    Spark bounds batches by rows first and by its own limit of bytes; what a batch of documents
    gives can be a thousand times its rows, so it is taken in small parts.
    """
    ends = np.cumsum(byte_lengths(batch.column(content)).to_numpy(zero_copy_only=False))
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        end = int(np.searchsorted(ends, before + BATCH_BYTES_MAX, side="right"))
        end = max(end, start + 1)
        yield batch.slice(start, end - start)
        start = end


def byte_lengths(contents: pa.Array[Any]) -> pa.Array[Any]:
    """How long each document is; one that is missing has no bytes."""
    compute: Any = pc
    lengths: pa.Array[Any] = compute.fill_null(compute.binary_length(contents), 0).cast(pa.int64())
    return lengths


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The matches and refusals of a batch of documents."""

    documents: Numbers
    """The place in the batch of each match's document, ascending."""

    subscriptions: Numbers
    """The row of each match's subscription in the version's table."""

    faults: pa.StructArray
    """A row for each document, of type :data:`~penstock.matching.batch.ERROR_TYPE`: null where it
    was sound."""

    chosen: Chosen
    """The mappings by which the documents were matched."""

    unknown: Numbers
    """How many elements each document has that its mapping's schema does not have."""

    @property
    def matches_each(self) -> Numbers:
        """How many matches each document has."""
        return np.bincount(self.documents, minlength=len(self.faults)).astype(np.int64)


class Matching:
    """Matches batches against one version of the subscriptions.

    Parameters
    ----------
    version
        The subscriptions.
    at
        The time that decides which of them have started and not expired; ``None`` counts all.
    chooser
        Chooses each document's mapping by its header; without it they are matched as they are.
    """

    def __init__(
        self,
        version: OpenVersion,
        at: datetime | None = None,
        chooser: MappingChooser | None = None,
    ) -> None:
        self.version = version
        self._chooser = chooser
        self._in_force = None if at is None else _in_force(version.subscriptions, at)

    def match(self, batch: pa.RecordBatch) -> Outcomes:
        """Match each document of a batch, by the mapping that its header asks for."""
        contents = batch.column("content")
        chosen = choose(batch, self._chooser)
        found = self._found(contents, chosen)
        ids: Any = found.ids.values
        rows_of_ids = pc.cast(ids.dictionary, pa.int64()).to_numpy(zero_copy_only=False)
        subscriptions = rows_of_ids[ids.indices.to_numpy(zero_copy_only=False)]
        offsets = found.ids.offsets.to_numpy(zero_copy_only=False)
        documents = np.repeat(np.arange(len(contents)), np.diff(offsets))
        if self._in_force is not None:
            kept = self._in_force[subscriptions]
            documents, subscriptions = documents[kept], subscriptions[kept]
        faults = _with_refusals(found.errors, chosen.refused)
        unknown = np.zeros(len(contents), np.int64)
        unknown[list(found.unknown)] = list(found.unknown.values())
        return Outcomes(documents, subscriptions, faults, chosen, unknown)

    def _found(self, contents: pa.Array[Any], chosen: Chosen) -> BatchMatches:
        if not chosen.mappings:
            return self.version.matcher.match_batch(contents)
        if chosen.refused:  # not even read: a row without a document
            compute: Any = pc
            nothing = pa.scalar(None, contents.type)
            contents = compute.if_else(_mask(chosen.refused, len(contents)), nothing, contents)
        return self.version.mediated.match_batch(contents, chosen.mappings)

    def subscriptions(self, outcomes: Outcomes, columns: Sequence[str]) -> list[pa.Array[Any]]:
        """Columns of the subscriptions, a row for each match."""
        numbers: Any = pa.array(outcomes.subscriptions)
        taken = self.version.rows(numbers, columns)
        return [_whole(taken.column(name)) for name in columns]

    def fragments(
        self, contents: pa.Array[Any], outcomes: Outcomes, *, wanted: npt.NDArray[np.bool_]
    ) -> pa.Array[Any]:
        """What each match selected: null where it is not ``wanted``.

        Null too where it cannot be told in bounded memory: any of several keywords in a document
        that is too large. Whoever is delivered it is given the document whole. Past
        :data:`~penstock.workspace.limits.DELIVERY_FRAGMENTS_MAX` a last one tells how many are
        left out.
        """
        rows: list[list[dict[str, Any]] | None] = [None] * len(wanted)
        places = np.flatnonzero(wanted)
        for of_document in np.split(places, _changes(outcomes.documents[places])):
            if len(of_document) == 0:
                continue
            number = int(outcomes.documents[of_document[0]])
            document: Any = contents[number]
            ids = [str(row) for row in outcomes.subscriptions[of_document]]
            mapping = outcomes.chosen.of(number)
            selected = self.version.mediated.select(document.as_py(), mapping, ids)
            for place, id_ in zip(of_document, ids, strict=True):
                if id_ in selected:
                    rows[place] = _fragment_rows(selected[id_])
        made: pa.Array[Any] = pa.array(rows, FRAGMENTS)
        return made


def _with_refusals(faults: pa.StructArray, refused: Mapping[int, DocumentError]) -> pa.StructArray:
    """The faults of a batch, with those of headers in their place."""
    if not refused:
        return faults
    compute: Any = pc
    of_headers = error_array(refused, len(faults))
    both: pa.StructArray = compute.if_else(_mask(refused, len(faults)), of_headers, faults)
    return both


def _mask(rows: Mapping[int, object], length: int) -> pa.BooleanArray:
    mask: pa.BooleanArray = pa.array([row in rows for row in range(length)])
    return mask


def _whole(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    whole: pa.Array[Any] = column.combine_chunks()
    return whole


def _changes(values: Numbers) -> Numbers:
    """Where a value differs from the one before."""
    return np.flatnonzero(np.diff(values)) + 1


def _in_force(subscriptions: pa.Table, at: datetime) -> npt.NDArray[np.bool_] | None:
    """Which subscriptions have started and not expired; ``None`` where none ever changes."""
    starts, expires = subscriptions.column("starts_at"), subscriptions.column("expires_at")
    if starts.null_count == expires.null_count == len(subscriptions):
        return None
    compute: Any = pc
    now = pa.scalar(at, TIME)
    started = compute.fill_null(compute.less_equal(starts, now), True)
    lasting = compute.fill_null(compute.greater(expires, now), True)
    found: npt.NDArray[np.bool_] = compute.and_(started, lasting).to_numpy()
    return found


def _fragment_rows(fragments: Sequence[Fragment]) -> list[dict[str, Any]]:
    rows = [_fragment_row(fragment) for fragment in fragments[:DELIVERY_FRAGMENTS_MAX]]
    left_out = len(fragments) - len(rows)
    if left_out:
        rows.append({"kind": MORE, "spans": [], "xml": f"<!-- {left_out} more -->"})
    return rows


def _fragment_row(fragment: Fragment) -> dict[str, Any]:
    return {
        "kind": fragment.kind,
        "spans": [{"start": span.start, "end": span.end} for span in fragment.spans],
        "xml": fragment.to_xml(),
    }
