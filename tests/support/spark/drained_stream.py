"""Streams in tests: run until what is there is read, then look."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, Row


def drained(stream: DataFrame, folder: Path) -> list[Row]:
    """All rows written so far, once the stream has read what is there; it can be called again."""
    written = str(folder / "written")
    query = (
        stream.writeStream.format("parquet")
        .option("path", written)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return stream.sparkSession.read.parquet(written).collect()
