"""Reads rows of the Delta tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from penstock.language.source_position import utf8_size
from penstock.workspace.delta import open_dataset
from penstock.workspace.pipeline_tables import Tables

SEQUENCE_DIGITS_MAX = 18
"""Digits of a sequence number, which has 64 bits."""


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
    rows: pa.Table = dataset.to_table(filter=condition, columns=names)
    return rows


def sequences_in(table: str, sequences: Collection[int]) -> set[int]:
    """Those of the sequence numbers that a table contains."""
    if not sequences:
        return set()
    found = read_rows(table, pc.field("sequence").isin(sorted(sequences)), ["sequence"])
    return set() if found is None else {int(each) for each in _values(found, "sequence")}


def read_contents(tables: Tables, sequences: Collection[int]) -> dict[int, bytes]:
    """The documents of sequence numbers, without those that retention has removed."""
    if not sequences:
        return {}
    condition = pc.field("sequence").isin(sorted(set(sequences)))
    found = read_rows(tables.documents, condition, ["sequence", "content"])
    if found is None:
        return {}
    return dict(zip(_values(found, "sequence"), _values(found, "content"), strict=True))


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
    if name.isdecimal() and len(name) <= SEQUENCE_DIGITS_MAX:
        condition = condition | (pc.field("sequence") == int(name))
    return condition
