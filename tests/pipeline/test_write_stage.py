"""The rows between the stages of a delivery."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.pipeline.write_stage import rows_with


@given(
    values=st.lists(st.none() | st.integers(0, 9), max_size=5),
    after=st.integers(0, 5),
)
def test_rows_with_a_value(values: list[int | None], after: int) -> None:
    batch = pa.RecordBatch.from_pydict(
        {"value": pa.array(values, pa.int64()), "row": pa.array(range(len(values)), pa.int64())}
    ).slice(min(after, len(values)))
    expected = [row for row in batch.to_pylist() if row["value"] is not None]
    assert rows_with(batch, "value").to_pylist() == expected
