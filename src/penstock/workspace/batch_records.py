"""Records of what each micro-batch uses, written before it is matched.

A batch that is replayed after a failure uses the index versions and mappings in its record, not the
current ones. The replay therefore produces the same rows, whatever changed in between.
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

from penstock.workspace.atomic_files import atomic_write
from penstock.workspace.file_locks import file_lock
from penstock.workspace.timestamps import utc_now


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """The inputs of a batch besides its documents."""

    batch: int
    versions: tuple[str, ...]
    """The URI of an index version, or of each of its shards."""
    mappings: str | None
    """The URI of the mappings; ``None`` if documents are matched without mappings."""
    at: datetime
    """Time of the first attempt. Decides which subscriptions have started and not expired."""


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """The identity of a stream. It lives and dies with the stream's checkpoint."""

    stream: str
    after: int
    """The last sequence number that an earlier stream has processed."""


class BatchRecords:
    """The records of a stream's batches, one JSON file each."""

    def __init__(self, folder: str, stream: str) -> None:
        self._folder = Path(folder) / stream

    def get_or_create(
        self,
        batch: int,
        versions: Callable[[], Sequence[str]],
        mappings: Callable[[], str] | None = None,
    ) -> BatchRecord:
        """The record of a batch. If there is none, one with the current inputs is written."""
        path = self._path(batch)
        with self.locked():
            if path.exists():
                return _read_record(path)
            mappings_uri = None if mappings is None else mappings()
            record = BatchRecord(batch, tuple(versions()), mappings_uri, utc_now())
            _write_json(path, {**asdict(record), "at": record.at.isoformat()})
            return record

    def locked(self) -> AbstractContextManager[None]:
        """Prevent the creation of records.

        A batch that has no record while the lock is held will use the subscriptions read under the
        lock, or later ones.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        return file_lock(self._folder / "lock", wait=True)

    def has(self, batch: int) -> bool:
        """Whether a batch has a record."""
        return self._path(batch).exists()

    def all(self) -> list[BatchRecord]:
        """All records, in batch order."""
        return [_read_record(path) for path in sorted(self._folder.glob("*.json"))]

    def delete(self, batch: int) -> None:
        """Delete the record of a batch."""
        self._path(batch).unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:012}.json"


def get_or_create_stream(checkpoint: Path, last_sequence: Callable[[], int]) -> StreamRecord:
    """The stream of a checkpoint. A new checkpoint gets a new stream, after ``last_sequence``.

    The identity is stored in the checkpoint because Spark numbers batches from zero in a new one:
    these batches must not be mistaken for committed batches of the previous stream.
    """
    path = checkpoint / "penstock-stream.json"
    if not path.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        _write_json(path, {"stream": uuid.uuid4().hex, "after": last_sequence()})
    return StreamRecord(**json.loads(path.read_text()))


def _read_record(path: Path) -> BatchRecord:
    values = json.loads(path.read_text())
    return BatchRecord(
        values["batch"],
        tuple(values["versions"]),
        values.get("mappings"),  # missing in records written before mappings existed
        datetime.fromisoformat(values["at"]),
    )


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(value).encode())
