"""Converts between Arrow and Python values without importing pandas.

``pyarrow.array``, ``pyarrow.scalar``, ``pyarrow.table``, ``Schema.empty_table`` and the conversion
of timestamps import pandas if it is installed, since values may be pandas objects. That takes 40 MB
and most of a second, which a command that reads a few rows does not need.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from penstock.workspace.timestamps import from_microseconds


def integer_array(values: Sequence[int]) -> pa.Array[Any]:
    """An array of 64-bit integers.

    >>> integer_array([3, -1]).to_pylist()
    [3, -1]
    """
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(array("q", values))])


def string_array(values: Sequence[str]) -> pa.Array[Any]:
    """An array of strings.

    >>> string_array(["anna", "", "b"]).to_pylist()
    ['anna', '', 'b']
    """
    encoded = [value.encode() for value in values]
    offsets = array("q", accumulate(map(len, encoded), initial=0))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers).cast(pa.string())


def empty_table(schema: pa.Schema) -> pa.Table:
    """A table without rows."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as ``to_pylist`` returns them; columns of times have microseconds, in UTC."""
    columns: list[list[Any]] = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            columns.append([from_microseconds(at) for at in column.cast(pa.int64()).to_pylist()])
        else:
            columns.append(column.to_pylist())
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]
