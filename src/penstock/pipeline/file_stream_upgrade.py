"""Completes the last batch of an inbox stream that an older version began.

Older versions streamed the inbox with Spark's file source. Its checkpoint lists absolute paths; the
files are named by their first sequence number, so a range of sequence numbers takes their place.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from penstock.pipeline.delivery import deliver
from penstock.pipeline.inbox_source import InboxSourceOptions, load_inbox
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import Workspace
from penstock.workspace.batch_records import STREAM_FILE, BatchRecords, read_stream
from penstock.workspace.delta import last_committed_batch
from penstock.workspace.journal import first_sequence, journal_files

CHECKPOINT: Final = "deliveries"
"""The folder of the checkpoint of older versions."""


def complete_file_stream(
    spark: SparkSession,
    workspace: Workspace,
    config: RunConfig,
    versions: Callable[[], Sequence[str]],
    mappings: Callable[[], str],
) -> None:
    """Complete the last batch, under its own number, and remove the checkpoint.

    Some tables may contain the batch already. The caller holds the workspace's lock ``run``.
    """
    checkpoint = workspace.checkpoints / CHECKPOINT
    if not (checkpoint / STREAM_FILE).exists():
        return
    stream = read_stream(checkpoint)
    batch = _last_number(checkpoint / "offsets")
    committed = last_committed_batch(workspace.tables.counts, stream.stream)
    if batch is not None and (committed is None or committed < batch):
        first, last = _sequences(checkpoint, batch, workspace)
        documents = load_inbox(
            spark.read,
            InboxSourceOptions(
                workspace=str(workspace.path), after=max(first - 1, stream.after), upto=last
            ),
            spark,
        )
        records = BatchRecords(str(workspace.batches), stream.stream)
        record = records.get_or_create(batch, versions, mappings)
        deliver(
            documents,
            record.versions,
            workspace.tables,
            stream=stream.stream,
            batch=batch,
            at=record.at,
            mappings=record.mappings,
            config=config,
        )
    shutil.rmtree(checkpoint)


def _last_number(folder: Path) -> int | None:
    """The greatest number that a file of a folder is named by."""
    numbers = [int(path.name) for path in folder.glob("*") if path.name.isdecimal()]
    return max(numbers, default=None)


def _sequences(checkpoint: Path, batch: int, workspace: Workspace) -> tuple[int, int]:
    """The first and last sequence number of a batch."""
    before = _log_offset(checkpoint, batch - 1) if batch else -1
    after = _log_offset(checkpoint, batch)
    firsts = {
        int(Path(file["path"]).stem)
        for path in (checkpoint / "sources" / "0").glob("*")
        if path.suffix in ("", ".compact") and not path.name.startswith(".")
        for file in map(json.loads, path.read_text().splitlines()[1:])
        if before < file["batchId"] <= after
    }
    later = [
        first
        for first in map(first_sequence, journal_files(workspace.inbox.folder))
        if first > max(firsts)
    ]
    return min(firsts), min(later, default=workspace.inbox.last_sequence() + 1) - 1


def _log_offset(checkpoint: Path, batch: int) -> int:
    # The lines are a version, metadata, and the offset of the only source.
    text = (checkpoint / "offsets" / str(batch)).read_text()
    return int(json.loads(text.splitlines()[2])["logOffset"])
