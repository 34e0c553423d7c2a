"""Counts the processed documents of a workspace from the Delta log of the counts table."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from penstock.workspace.pipeline_tables import BACKFILL_PREFIX


class CommittedCounts:
    """Sums the counts of committed batches, reading each log entry once."""

    def __init__(self, workspace: Path) -> None:
        self._table = workspace / "tables" / "counts"
        self._seen: set[str] = set()
        self._documents = 0

    def documents(self) -> int:
        """The number of documents in all batches except backfills."""
        log = self._table / "_delta_log"
        for path in sorted(log.glob("*.json")) if log.is_dir() else ():
            if path.name not in self._seen:
                self._seen.add(path.name)
                self._documents += sum(map(self._documents_in, path.read_text().splitlines()))
        return self._documents

    def _documents_in(self, line: str) -> int:
        added = json.loads(line).get("add")
        if added is None or not added["dataChange"]:  # compaction adds no rows
            return 0
        rows = pq.read_table(self._table / added["path"], columns=["stream", "documents"])
        return sum(
            row["documents"]
            for row in rows.to_pylist()
            if not row["stream"].startswith(BACKFILL_PREFIX)
        )
