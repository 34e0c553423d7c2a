"""Random histories of synchronisation as a Spark job: each seed is simulated by some worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.sync.simulation import HistorySummary, options_of_seed, run_history

COUNTS: Final = tuple(each.name for each in fields(HistorySummary) if each.name != "outcomes")
"""What is counted in each history."""

_TYPES: Final[dict[str, pa.DataType]] = {
    "seed": pa.int64(),
    "failure": pa.string(),
    **dict.fromkeys(COUNTS, pa.int64()),
}
_HISTORIES: Final = pa.schema(_TYPES)


def replay_histories(spark: SparkSession, seeds: range, *, partitions: int) -> DataFrame:
    """Runs the history of each seed, with options that vary with the seed.

    Parameters
    ----------
    spark
        The session.
    seeds
        The seeds; they are spread over the partitions.
    partitions
        Number of tasks.

    Returns
    -------
    A row for each seed: ``failure``, the divergence or other error, or null; and what was counted
    (:class:`~penstock.sync.simulation.HistorySummary`), null after a failure. Executing it again
    gives the same rows.
    """
    numbers = spark.range(seeds.start, seeds.stop, seeds.step, partitions)
    return numbers.mapInArrow(_replayed_batches, from_arrow_schema(_HISTORIES))


def _replayed_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        seeds: list[int] = batch.column("id").to_numpy().tolist()
        rows = [_replayed(seed) for seed in seeds]
        yield pa.RecordBatch.from_pylist(rows, schema=_HISTORIES)


def _replayed(seed: int) -> dict[str, object]:
    try:
        summary = run_history(seed, options_of_seed(seed))
    except Exception as failure:  # whatever it is, it is the result of this seed
        return {"seed": seed, "failure": f"{type(failure).__name__}: {failure}"}
    return {"seed": seed, **{name: getattr(summary, name) for name in COUNTS}}
