"""Reads the Delta tables, through their logs and never by listing folders."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from penstock.workspace.delta import dataset_of
from penstock.workspace.limits import CONTENTS_AT_ONCE
from penstock.workspace.pipeline_tables import Tables


def rows_of(
    table: str,
    where: pc.Expression | None = None,
    columns: Sequence[str] | None = None,
    *,
    schema: pa.Schema | None = None,
) -> pa.Table | None:
    """Rows of a table as it is now; ``None`` where nothing has made the table yet.

    With ``schema``, columns that it has and an older table lacks are null.
    """
    if not DeltaTable.is_deltatable(table):
        return None
    names = None if columns is None else list(columns)
    dataset: Any = dataset_of(table)
    if schema is not None:
        dataset = dataset.replace_schema(schema)
    rows: pa.Table = dataset.to_table(filter=where, columns=names)
    return rows


def sequences_in(table: str, sequences: Collection[int]) -> set[int]:
    """Which of these documents a table has, by their places in the order of publishing."""
    if not sequences:
        return set()
    found = rows_of(table, pc.field("sequence").isin(sorted(sequences)), ["sequence"])
    return set() if found is None else {int(each) for each in _values(found, "sequence")}


def contents_of(tables: Tables, sequences: Sequence[int]) -> Iterator[tuple[int, bytes | None]]:
    """The bytes of documents, in the order asked for; ``None`` where they are no longer kept."""
    waiting = iter(sequences)
    while pack := list(islice(waiting, CONTENTS_AT_ONCE)):
        found = rows_of(
            tables.documents,
            pc.field("sequence").isin(sorted(set(pack))),
            ["sequence", "content"],
        )
        known: dict[int, bytes] = {}
        if found is not None:
            known = dict(zip(_values(found, "sequence"), _values(found, "content"), strict=True))
        for sequence in pack:
            yield sequence, known.get(sequence)


def _values(table: pa.Table, column: str) -> list[Any]:
    values: list[Any] = table.column(column).to_pylist()
    return values
