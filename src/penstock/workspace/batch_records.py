"""Records of what each micro-batch uses, written before it is matched.

A batch that is replayed after a failure uses the index versions and mappings in its record, not the
current ones. The replay therefore produces the same rows, whatever changed in between.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from penstock.workspace.atomic_files import atomic_write
from penstock.workspace.file_locks import file_lock
from penstock.workspace.timestamps import utc_now

_HERE: Final = "./"
"""Prefix of URIs that are relative to the workspace."""

STREAM_FILE: Final = "penstock-stream.json"
"""The file in a checkpoint that names its stream."""


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
    """The records of a stream's batches, one JSON file each.

    URIs within the folder that contains ``folder``, such as a workspace, are stored relative to it,
    so that it can be moved.
    """

    def __init__(self, folder: str, stream: str) -> None:
        self._root = Path(folder).absolute().parent
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
                return self._read(path)
            mappings_uri = None if mappings is None else mappings()
            record = BatchRecord(batch, tuple(versions()), mappings_uri, utc_now())
            _write_json(
                path,
                {
                    "batch": batch,
                    "versions": [self._relative(uri) for uri in record.versions],
                    "mappings": None if mappings_uri is None else self._relative(mappings_uri),
                    "at": record.at.isoformat(),
                },
            )
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
        return [self._read(path) for path in sorted(self._folder.glob("*.json"))]

    def delete(self, batch: int) -> None:
        """Delete the record of a batch."""
        self._path(batch).unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:012}.json"

    def _read(self, path: Path) -> BatchRecord:
        values = json.loads(path.read_text())
        mappings = values.get("mappings")  # missing in records written before mappings existed
        return BatchRecord(
            values["batch"],
            tuple(self._absolute(uri) for uri in values["versions"]),
            None if mappings is None else self._absolute(mappings),
            datetime.fromisoformat(values["at"]),
        )

    def _relative(self, uri: str) -> str:
        within = f"{self._root}/"
        return _HERE + uri.removeprefix(within) if uri.startswith(within) else uri

    def _absolute(self, uri: str) -> str:
        if uri.startswith(_HERE):
            return str(self._root / uri)
        path = Path(uri)
        if path.is_absolute() and not path.parent.exists():
            # Older records are absolute, and the workspace has been moved.
            return str(self._root / path.parent.name / path.name)
        return uri


def get_or_create_stream(checkpoint: Path, last_sequence: Callable[[], int]) -> StreamRecord:
    """The stream of a checkpoint. A new checkpoint gets a new stream, after ``last_sequence``.

    The identity is stored in the checkpoint because Spark numbers batches from zero in a new one:
    these batches must not be mistaken for committed batches of the previous stream.
    """
    path = checkpoint / STREAM_FILE
    if not path.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        _write_json(path, {"stream": uuid.uuid4().hex, "after": last_sequence()})
    return read_stream(checkpoint)


def read_stream(checkpoint: Path) -> StreamRecord:
    """The stream of an existing checkpoint."""
    return StreamRecord(**json.loads((checkpoint / STREAM_FILE).read_text()))


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(value).encode())
