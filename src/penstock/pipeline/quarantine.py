"""Documents of a batch that are refused without being read, because processing them fails.

The quarantine of a batch is decided by the driver, between two runs of the batch's job, and stored
before the next run. All tasks, shards and replays of the batch therefore refuse the same documents,
which keeps deliveries exactly-once.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow.fs import FileType, LocalFileSystem

from penstock.errors import DocumentError
from penstock.workspace.atomic_files import atomic_write
from penstock.workspace.content_digest import content_digest
from penstock.workspace.delta import resolve_filesystem
from penstock.workspace.pipeline_tables import Tables

INTERNAL: Final = "internal."
"""Prefix of the codes of unexpected failures."""


@dataclass(frozen=True, slots=True)
class FailedDocument:
    """A document whose processing failed unexpectedly."""

    document: str
    """Its identity."""
    digest: str
    """SHA-256 of its bytes: an identity may be published again with other bytes."""
    code: str
    message: str
    report: str | None

    def error(self) -> DocumentError:
        """The error that refuses the document."""
        return DocumentError(self.code, self.message, report=self.report)


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The quarantined documents of a batch. Sent to the workers."""

    documents: tuple[FailedDocument, ...] = ()

    def refusals(self, batch: pa.RecordBatch) -> dict[int, DocumentError]:
        """The errors of the quarantined documents in a batch, by row."""
        if not self.documents:
            return {}
        identities = {each.document for each in self.documents}
        by_key = {(each.document, each.digest): each for each in self.documents}
        refused = {}
        for row, identity in enumerate(batch.column("document").to_pylist()):
            if identity in identities:
                content: Any = batch.column("content")[row]
                found = by_key.get((identity, content_digest(content.as_py()).hex()))
                if found is not None:
                    refused[row] = found.error()
        return refused

    def extended(self, failed: Iterable[FailedDocument]) -> Quarantine:
        """This quarantine with further documents; the first error of a document is kept."""
        by_key = {(each.document, each.digest): each for each in failed}
        by_key |= {(each.document, each.digest): each for each in self.documents}
        return Quarantine(tuple(sorted(by_key.values(), key=lambda each: each.document)))


class QuarantineFile:
    """The stored quarantine of a batch, beside the tables that the batch is committed to."""

    def __init__(self, tables: Tables, *, stream: str, batch: int) -> None:
        self._filesystem, root = resolve_filesystem(tables.root)
        self._path = posixpath.join(root, "quarantine", stream, f"{batch:012}.json")

    def read(self) -> Quarantine:
        """The quarantine; empty if none is stored."""
        if self._filesystem.get_file_info(self._path).type == FileType.NotFound:
            return Quarantine()
        with self._filesystem.open_input_stream(self._path) as file:
            rows = json.loads(file.read())
        return Quarantine(tuple(FailedDocument(**row) for row in rows))

    def write(self, quarantine: Quarantine) -> None:
        """Store the quarantine durably."""
        text = json.dumps([asdict(each) for each in quarantine.documents]).encode()
        self._filesystem.create_dir(posixpath.dirname(self._path), recursive=True)
        if isinstance(self._filesystem, LocalFileSystem):
            with atomic_write(Path(self._path)) as local:
                local.write(text)
            return
        with self._filesystem.open_output_stream(self._path) as remote:  # objects appear whole
            remote.write(text)

    def delete(self) -> None:
        """Remove the quarantine of a batch that is committed and will not be replayed."""
        if self._filesystem.get_file_info(self._path).type != FileType.NotFound:
            self._filesystem.delete_file(self._path)


def failed_documents(documents: pa.RecordBatch, errors: pa.StructArray) -> Iterator[FailedDocument]:
    """The documents of a batch whose error is an unexpected failure."""
    for row in np.flatnonzero(errors.is_valid().to_numpy(zero_copy_only=False)):
        fault: Any = errors[int(row)].as_py()
        if fault["code"].startswith(INTERNAL):
            identity: Any = documents.column("document")[int(row)]
            content: Any = documents.column("content")[int(row)]
            yield FailedDocument(
                identity.as_py(),
                content_digest(content.as_py()).hex(),
                fault["code"],
                fault["message"],
                fault["report"],
            )
