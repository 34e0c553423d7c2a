"""Finds a published document in the documents table, the dead letters or the inbox."""

from __future__ import annotations

from typing import Any, Final

from penstock.documents import Document, Header
from penstock.errors import error
from penstock.workspace.table_reader import document_condition, read_rows
from penstock.workspace.table_schemas import DOCUMENTS
from penstock.workspace.workspace import Workspace

_COLUMNS: Final = DOCUMENTS.names


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
        ``document.unknown``, or ``document.ambiguous``: several documents have the number.
    """
    condition = document_condition(name)
    if condition is None:
        raise error("document.unknown", f"there is no document {name!a}")
    for table in (workspace.tables.documents, workspace.tables.dead_letters):
        found = read_rows(table, condition, _COLUMNS)
        if found is not None and found.num_rows:
            return _newest(found.to_pylist(), name)
    waiting = workspace.inbox.find(name)
    if waiting is not None:
        return waiting
    raise error("document.unknown", f"there is no document `{name}`")


def _newest(rows: list[dict[str, Any]], name: str) -> Document:
    named = [row for row in rows if row["document"] == name] or rows
    identities = sorted({row["document"] for row in named})
    if len(identities) > 1:
        raise error(
            "document.ambiguous",
            f"{len(identities)} documents have the number {name}, such as `{identities[0]}` and"
            f" `{identities[1]}`",
        )
    # A document that was refused and replayed has several rows.
    row = max(named, key=lambda row: (row["published_at"], row["sequence"]))
    header = Header(publisher=row["publisher"], schema=row["schema"], fields=dict(row["fields"]))
    return Document(row["content"], header)
