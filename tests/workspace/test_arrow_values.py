"""Conversion of Arrow values without pandas: the same as pyarrow's own."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.workspace.arrow_values import empty_table, integer_array, rows_of, string_array
from penstock.workspace.mailbox import HEADERS
from penstock.workspace.table_schemas import DELIVERIES

TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
NAMES = "published_at", "subscription"
SCHEMA = pa.schema([DELIVERIES.field(name).with_nullable(True) for name in NAMES])


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers(values: list[int]) -> None:
    assert integer_array(values).equals(pa.array(values, pa.int64()))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings(values: list[str]) -> None:
    found = string_array(values)
    found.validate(full=True)
    assert found.equals(pa.array(values, pa.string()))


def test_an_empty_table_has_the_schema() -> None:
    for schema in (HEADERS, DELIVERIES):
        assert empty_table(schema).equals(schema.empty_table(), check_metadata=True)


@given(st.lists(st.tuples(st.none() | TIMES, st.none() | st.text("ab\x00é"))))
def test_rows(values: list[tuple[datetime | None, str | None]]) -> None:
    rows = [dict(zip(NAMES, row, strict=True)) for row in values]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    assert rows_of(table) == table.to_pylist() == rows
    assert rows_of(pa.concat_tables([table, table])) == rows * 2
