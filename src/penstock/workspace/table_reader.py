"""Reads rows of the Delta tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.language.source_position import utf8_size
from penstock.workspace.delta import open_dataset
from penstock.workspace.delta_rs import DeltaTable
from penstock.workspace.limits import PUBLISHED_SEQUENCE_MAX

if TYPE_CHECKING:
    # Imports pandas, which most commands do not need.
    import pyarrow.dataset as ds

_SEQUENCE_END = 1 << 63


def read_rows(
    table: str,
    condition: pc.Expression | None = None,
    columns: Sequence[str] | None = None,
    *,
    schema: pa.Schema | None = None,
) -> pa.Table | None:
    """Rows of the latest version of a table; ``None`` if the table does not exist yet.

    With ``schema``, columns that an older table lacks are null.
    """
    if not DeltaTable.is_deltatable(table):
        return None
    names = None if columns is None else list(columns)
    dataset: Any = open_dataset(table)
    if schema is not None:
        dataset = dataset.replace_schema(schema)
    try:
        rows: pa.Table = dataset.to_table(filter=condition, columns=names)
    except pa.ArrowNotImplementedError:
        if condition is None:
            raise
        rows = _filtered_in_memory(dataset, condition, names)
    return rows


def _filtered_in_memory(
    dataset: ds.Dataset, condition: pc.Expression, columns: list[str] | None
) -> pa.Table:
    """Rows of a dataset, read without the statistics of its files.

    When delta-rs rewrites a file, it stores strings as views, which Arrow cannot compare with the
    strings of a condition.
    """
    empty = dataset.schema.empty_table().select(columns or dataset.schema.names)
    found = [
        pa.Table.from_batches([batch]).filter(condition).select(empty.column_names)
        for batch in dataset.to_batches()
    ]
    return pa.concat_tables([empty, *found])


def sequences_in(table: str, sequences: Collection[int]) -> set[int]:
    """Those of the sequence numbers that a table contains."""
    if not sequences:
        return set()
    found = read_rows(table, pc.field("sequence").isin(sorted(sequences)), ["sequence"])
    return set() if found is None else {int(each) for each in _values(found, "sequence")}


def last_published(counts: pa.Table) -> int | None:
    """How far batches have processed an inbox: the last sequence number of a published document."""
    last = counts.column("last_sequence")
    compute: Any = pc
    published = last.filter(compute.less_equal(last, PUBLISHED_SEQUENCE_MAX))
    found: int | None = pc.max(published).as_py()
    return found


def _values(table: pa.Table, column: str) -> list[Any]:
    values: list[Any] = table.column(column).to_pylist()
    return values


def document_condition(name: str) -> pc.Expression | None:
    """Selects the rows of a document by its identity or sequence number; ``None`` if it has none.

    No document has an identity with a lone surrogate, which Python makes of an undecodable byte.
    """
    if utf8_size(name) is None:
        return None
    condition: pc.Expression = pc.field("document") == name
    if name.isdecimal() and len(name) <= len(str(_SEQUENCE_END)) and int(name) < _SEQUENCE_END:
        condition = condition | (pc.field("sequence") == int(name))
    return condition
