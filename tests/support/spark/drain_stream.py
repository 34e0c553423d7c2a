"""Runs a stream until all available data is read."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, Row


def drain_stream(stream: DataFrame, folder: Path) -> list[Row]:
    """Process all available data; returns all rows written to ``folder`` so far.

    Further calls with the same folder continue the stream.
    """
    output = str(folder / "written")
    query = (
        stream.writeStream.format("parquet")
        .option("path", output)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return stream.sparkSession.read.parquet(output).collect()
