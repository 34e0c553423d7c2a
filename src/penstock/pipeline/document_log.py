"""Writes the documents of a batch, and its dead letters, to their tables. Runs in the workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.workspace.delta import TableWriter
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.recent_documents import in_sequence
from penstock.workspace.table_schemas import (
    DEAD_LETTERS,
    DOCUMENT_LOG,
    DOCUMENTS,
    TIME,
    UNKNOWN_ELEMENTS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLog:
    """Where a task writes documents. Sent to the workers, so it holds plain values only."""

    tables: Tables
    batch: int
    at: datetime
    """The time at which documents are refused."""

    keeps_refused: bool
    """Whether dead letters are stored."""

    recent: bool = False
    """Whether to write documents uncompressed: see :mod:`penstock.workspace.recent_documents`."""

    def open(self) -> DocumentLogWriter:
        """A writer for one task."""
        return DocumentLogWriter(self)


class DocumentLogWriter:
    """Writes documents and dead letters to files that are not committed yet."""

    def __init__(self, log: DocumentLog) -> None:
        self._log = log
        self._documents = TableWriter(log.tables.documents, DOCUMENT_LOG, recent=log.recent)
        self._dead_letters = TableWriter(log.tables.dead_letters, DEAD_LETTERS)

    def write(
        self,
        documents: pa.RecordBatch,
        errors: pa.StructArray,
        unknown_elements: pa.Array[Any],
        *,
        accepted: bool = True,
    ) -> None:
        """Write documents, or dead letters where there is an error.

        Parameters
        ----------
        documents
            The documents.
        errors
            One row per document, null if it is accepted.
        unknown_elements
            For each document, the number of elements that its mapping's schema does not define.
        accepted
            Whether to write the accepted documents; otherwise only dead letters.
        """
        columns: dict[str, Any] = {name: documents.column(name) for name in DOCUMENTS.names}
        columns[UNKNOWN_ELEMENTS.name] = unknown_elements
        columns["batch"] = pa.repeat(pa.scalar(self._log.batch, pa.int64()), documents.num_rows)
        is_accepted = errors.is_null()
        has_errors = errors.null_count < len(errors)
        if accepted:
            # Filtering and sorting copy the contents, which are most of the bytes.
            rows = pa.table(columns)
            self._documents.write(in_sequence(rows.filter(is_accepted) if has_errors else rows))
        if self._log.keeps_refused and has_errors:
            for number, field in enumerate(errors.type):
                columns[field.name] = errors.field(number)
            refused_at = pa.scalar(self._log.at, TIME)
            columns["refused_at"] = pa.repeat(refused_at, documents.num_rows)
            self._dead_letters.write(pa.table(columns).filter(pc.invert(is_accepted)))

    def close(self) -> Iterator[str]:
        """Finish the files; returns a report of each in JSON."""
        for table, writer in (("documents", self._documents), ("dead_letters", self._dead_letters)):
            for file in writer.close():
                yield json.dumps({"table": table, **file.as_dict()})
