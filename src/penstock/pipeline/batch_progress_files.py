"""How far the tasks of the current batch are: one small file per task attempt.

Spark reports progress within a job only to its own driver, and differently on Spark Connect. Tasks
therefore write the number of documents they have matched into files beside the tables, a few bytes
for every few megabytes of documents. On remote file systems there is no such progress.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from pyspark import TaskContext

from penstock.workspace.pipeline_tables import Tables

_DIGITS: Final = 19


@dataclass(frozen=True, slots=True)
class BatchProgressFiles:
    """The progress of one batch at a time. Sent to the workers."""

    folder: str | None
    """``None`` if the tables are not on a local file system."""

    @classmethod
    def beside(cls, tables: Tables, stream: str) -> Self:
        """The progress files of a stream."""
        return cls(None if "://" in tables.root else os.path.join(tables.root, "progress", stream))

    @contextlib.contextmanager
    def of_batch(self) -> Iterator[None]:
        """Removes the files before and after a batch."""
        self._remove()
        if self.folder is not None:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
        try:
            yield
        finally:
            self._remove()

    def task(self) -> TaskProgress:
        """The progress of the task that this process runs."""
        context = TaskContext.get()
        if self.folder is None or context is None:
            return TaskProgress(None)
        name = f"{context.partitionId()}-{context.attemptNumber()}"
        return TaskProgress(os.path.join(self.folder, name))

    def documents(self) -> int:
        """The number of documents that the tasks of the current batch have matched."""
        if self.folder is None:
            return 0
        by_task: dict[str, int] = {}
        with contextlib.suppress(OSError):  # the batch may end meanwhile
            for path in Path(self.folder).iterdir():
                task = path.name.partition("-")[0]
                count = int(path.read_text() or 0)
                by_task[task] = max(by_task.get(task, 0), count)
        return sum(by_task.values())

    def _remove(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


class TaskProgress:
    """The number of documents that a task has matched."""

    def __init__(self, path: str | None) -> None:
        self._count = 0
        self._descriptor: int | None = None
        if path is not None:
            with contextlib.suppress(OSError):  # progress is not worth a failure
                self._descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)

    def add(self, documents: int) -> None:
        """Report further documents."""
        self._count += documents
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.pwrite(self._descriptor, b"%0*d" % (_DIGITS, self._count), 0)

    def close(self) -> None:
        """Close the file, which stays until the batch ends."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
