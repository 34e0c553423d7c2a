"""What each batch of a stream uses, recorded before it is matched.

A batch that is replayed after a failure takes what its record says, not what is current by then:
so it gives the same, however subscriptions and mappings changed meanwhile.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.workspace.atomic_files import writing
from penstock.workspace.file_locks import holding
from penstock.workspace.timestamps import now


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """The subscriptions, the mappings and the time of a batch."""

    batch: int
    versions: tuple[str, ...]
    """The URI of an index version, or those of its shards."""
    mappings: str | None
    """The URI of the mappings of then; ``None`` where documents are matched as they are."""
    at: datetime
    """When it was first tried: decides which subscriptions have started and not expired."""


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """The identity of a stream, as old as its checkpoint."""

    stream: str
    after: int
    """The last sequence number that an earlier stream has dealt with."""


class BatchRecords:
    """The records of a stream's batches: a file each."""

    def __init__(self, folder: str, stream: str) -> None:
        self._folder = Path(folder) / stream

    def of(
        self,
        batch: int,
        versions: Callable[[], Sequence[str]],
        mappings: Callable[[], str] | None = None,
    ) -> BatchRecord:
        """The record of a batch; made, with what is current, where there is none."""
        path = self._path(batch)
        with self.held():
            if path.exists():
                return _record(path)
            used = None if mappings is None else mappings()
            record = BatchRecord(batch, tuple(versions()), used, now())
            _write(path, {**asdict(record), "at": record.at.isoformat()})
            return record

    def held(self) -> AbstractContextManager[None]:
        """While held, no record is made.

        Whoever looks at the subscriptions and at the records meanwhile knows: a batch that has no
        record yet will have these subscriptions, or later ones.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        return holding(self._folder / "lock", wait=True)

    def has(self, batch: int) -> bool:
        """Whether a batch was recorded."""
        return self._path(batch).exists()

    def all(self) -> list[BatchRecord]:
        """The records that are kept, in order."""
        return [_record(path) for path in sorted(self._folder.glob("*.json"))]

    def forget_before(self, batch: int) -> None:
        """Remove the records of batches that are committed for good."""
        for record in self.all():
            if record.batch < batch:
                self._path(record.batch).unlink()

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:012}.json"


def stream_of(checkpoint: Path, last_sequence: Callable[[], int]) -> StreamRecord:
    """The stream of a checkpoint; a new one where the checkpoint is new.

    Its identity lies in the checkpoint: without it, the numbers of batches begin anew, and must
    not be taken for batches that were committed. A new stream begins after ``last_sequence``.
    """
    path = checkpoint / "penstock-stream.json"
    if not path.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        _write(path, {"stream": uuid.uuid4().hex, "after": last_sequence()})
    return StreamRecord(**json.loads(path.read_text()))


def _record(path: Path) -> BatchRecord:
    found = json.loads(path.read_text())
    return BatchRecord(
        found["batch"],
        tuple(found["versions"]),
        found.get("mappings"),  # a record of before there were any has none
        datetime.fromisoformat(found["at"]),
    )


def _write(path: Path, value: dict[str, Any]) -> None:
    with writing(path) as file:
        file.write(json.dumps(value).encode())
