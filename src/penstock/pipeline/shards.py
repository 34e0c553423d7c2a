"""Shards of the subscriptions: every document is matched against every shard."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.errors import error
from penstock.pipeline.limits import SHARDS_MAX
from penstock.workspace.index_version_files import StoredVersion

SHARD: Final = "shard"
"""The column with the number of the shard that a row is matched against."""

ROW: Final = "row"
"""The column with a unique number of each input row, present if there are several shards. Documents
cannot serve as keys: the same document may be published twice."""


def check_versions(versions: str | Sequence[str]) -> list[str]:
    """The URIs of the shards as a list.

    Raises
    ------
    PipelineError
        ``pipeline.versions``: there is none, or one is not a string.
    """
    shards = [versions] if isinstance(versions, str) else list(versions)
    if not shards:
        raise error("pipeline.versions", "no index version was given")
    for shard in shards:
        if not isinstance(shard, str):
            raise error("pipeline.versions", f"{shard!r} is not the URI of an index version")
    return shards


def open_on_driver(spark: SparkSession, shards: Sequence[str]) -> None:
    """Read the versions' table files, so that a wrong URI fails before a job starts.

    On Spark Connect a plain path is a path of the server, which this process may not have.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
    """
    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    for uri in shards:
        if not is_remote or "://" in uri:
            _read_once(uri)


@functools.lru_cache(maxsize=SHARDS_MAX)
def _read_once(uri: str) -> None:
    """Read a version's table file, unless this process has done so before: it never changes.

    With 100,000 subscriptions, it takes 13 ms of each batch.
    """
    StoredVersion.read(uri)


def with_shards(documents: DataFrame, shards: int) -> DataFrame:
    """Copy each document for every shard, and partition the rows by shard.

    A worker then opens the one shard it works on, not all of them.
    """
    if shards == 1:
        return documents
    numbers = f.explode(f.array(*map(f.lit, range(shards))))
    rows = documents.withColumn(ROW, f.monotonically_increasing_id())
    return rows.withColumn(SHARD, numbers).repartition(shards, SHARD)


def split_by_shard(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each shard in a batch; without shards, the batch itself as shard 0."""
    if SHARD not in batch.schema.names:
        yield 0, batch
        return
    compute: Any = pc
    numbers = batch.column(SHARD)
    for number in numbers.unique():
        yield int(number.as_py()), batch.filter(compute.equal(numbers, number))
