"""Statistics of a Parquet file for the log of its Delta table, as delta-rs writes them.

With them, a reader finds the few files that may have a row without opening the others.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pyarrow.parquet as pq

_WITHOUT_STATISTICS: Final = ("content",)
"""Columns of binary values: delta-rs has no statistics of them either."""


def file_statistics(metadata: pq.FileMetaData) -> dict[str, Any] | None:
    """The smallest and largest values and the number of nulls of all columns that are not nested.

    ``None`` if the file lacks some of them, as for very long strings.
    """
    smallest: dict[str, Any] = {}
    largest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for column in range(metadata.num_columns):
        path = metadata.schema.column(column).path
        if "." in path or path in _WITHOUT_STATISTICS:
            continue
        nulls[path] = 0
        for number in range(metadata.num_row_groups):
            chunk = metadata.row_group(number).column(column)
            found: Any = chunk.statistics
            if found is None or not found.has_null_count:
                return None
            nulls[path] += found.null_count
            if found.has_min_max:
                smallest[path] = min(smallest.get(path, found.min), found.min)
                largest[path] = max(largest.get(path, found.max), found.max)
            elif found.null_count < chunk.num_values:
                return None
    return {
        "minValues": {path: _json_value(value) for path, value in smallest.items()},
        "maxValues": {path: _json_value(value) for path, value in largest.items()},
        "nullCount": nulls,
    }


def _json_value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
    return value
