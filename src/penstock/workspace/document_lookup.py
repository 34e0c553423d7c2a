"""Finds a published document in the documents table, the dead letters or the inbox."""

from __future__ import annotations

from typing import Any, Final

import pyarrow.parquet as pq

from penstock.documents import Document, Header
from penstock.errors import error
from penstock.workspace.table_reader import document_condition, read_rows
from penstock.workspace.workspace import Workspace

_COLUMNS: Final = ["sequence", "publisher", "schema", "fields", "content"]


def find_document(workspace: Workspace, name: str) -> Document:
    """A published document, with its header.

    Parameters
    ----------
    workspace
        Where the document was published.
    name
        The document's identity or sequence number.

    Raises
    ------
    WorkspaceError
        ``document.unknown``
    """
    condition = document_condition(name)
    if condition is None:
        raise error("document.unknown", f"there is no document {name!a}")
    for table in (workspace.tables.documents, workspace.tables.dead_letters):
        found = read_rows(table, condition, _COLUMNS)
        if found is not None and found.num_rows:
            return _newest(found.to_pylist())
    for path in sorted(workspace.inbox.folder.glob("*.parquet"), reverse=True):
        rows: list[Any] = pq.read_table(path, columns=_COLUMNS, filters=condition).to_pylist()
        if rows:
            return _newest(rows)
    raise error("document.unknown", f"there is no document `{name}`")


def _newest(rows: list[dict[str, Any]]) -> Document:
    # A document that was refused and replayed has several rows.
    row = max(rows, key=lambda row: int(row["sequence"]))
    header = Header(publisher=row["publisher"], schema=row["schema"], fields=dict(row["fields"]))
    return Document(row["content"], header)
