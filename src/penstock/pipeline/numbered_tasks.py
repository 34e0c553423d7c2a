"""Calls a function once for each number, each in a Spark task of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class NumberedTasks:
    """Runs independent work of different length, such as simulations by seed."""

    spark: SparkSession

    def run(
        self, count: int, work: Callable[[int], Mapping[str, Any]], columns: pa.Schema, ddl: str
    ) -> list[dict[str, Any]]:
        """The rows that ``work`` returns for 0, 1, ... below ``count``, in any order.

        Parameters
        ----------
        count
            How many tasks.
        work
            Is pickled, and returns the values of a row by column.
        columns
            The columns of a row.
        ddl
            The same as Spark declares them.
        """
        if count == 0:
            return []

        def run_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                numbers: list[int] = batch["id"].to_numpy().tolist()
                yield pa.RecordBatch.from_pylist([dict(work(each)) for each in numbers], columns)

        ids = self.spark.range(0, count, 1, count)
        return [row.asDict() for row in ids.mapInArrow(run_batches, ddl).collect()]
