"""How many documents of a workspace's inbox are dealt with, read from the table's own log."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from penstock.workspace.pipeline_tables import BACKFILL


class CommittedCounts:
    """Adds up the counts of the batches that are committed, each read once."""

    def __init__(self, workspace: Path) -> None:
        self._table = workspace / "tables" / "counts"
        self._seen: set[str] = set()
        self._documents = 0

    def documents(self) -> int:
        """The documents of all batches; those of the past that someone asked for do not count."""
        log = self._table / "_delta_log"
        for path in sorted(log.glob("*.json")) if log.is_dir() else ():
            if path.name not in self._seen:
                self._seen.add(path.name)
                self._documents += sum(map(self._of, path.read_text().splitlines()))
        return self._documents

    def _of(self, line: str) -> int:
        added = json.loads(line).get("add")
        if added is None or not added["dataChange"]:  # a merger of files brings nothing new
            return 0
        rows = pq.read_table(self._table / added["path"], columns=["stream", "documents"])
        return sum(
            row["documents"] for row in rows.to_pylist() if not row["stream"].startswith(BACKFILL)
        )
