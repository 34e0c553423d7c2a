"""Reads the bytes of delivered documents from the documents table.

A document is found by its identity and checked by its digest. The sequence number alone is not
enough: in tables of earlier versions, documents of different subscribers may share one. But numbers
are clustered, so a document costs one small row group, however large the table is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any, Final, NamedTuple

import pyarrow as pa

from penstock.errors import error
from penstock.workspace.content_digest import content_digest
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_scan import OneOf, scan
from penstock.workspace.table_schemas import DOCUMENTS

_COLUMNS: Final = pa.schema([DOCUMENTS.field(name) for name in ("document", "sequence", "content")])


class DocumentKey(NamedTuple):
    """What a delivery states about its document."""

    document: str
    """The identity."""
    sequence: int
    digest: bytes | None
    """The digest of the bytes; ``None`` in deliveries of versions that did not store it."""


def read_contents(tables: Tables, keys: Collection[DocumentKey]) -> dict[DocumentKey, bytes]:
    """The bytes of documents, without those that retention has removed.

    Raises
    ------
    WorkspaceError
        ``document.damaged``: the bytes are not those that were delivered. ``document.ambiguous``:
        the delivery has no digest, and the table has several documents that it may refer to.
    """
    if not keys:
        return {}
    wanted = {(key.document, key.sequence) for key in keys}
    numbers = OneOf("sequence", sorted({key.sequence for key in keys}))
    candidates: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    for rows in scan(tables.documents, _COLUMNS, [numbers]):
        contents: Any = rows.column("content")
        columns = (rows.column(name).to_pylist() for name in ("document", "sequence"))
        for row, name in enumerate(zip(*columns, strict=True)):
            if name in wanted:
                candidates[name].append(contents[row].as_py())
    found: dict[DocumentKey, bytes] = {}
    for key in keys:
        content = _chosen(key, candidates[key.document, key.sequence])
        if content is not None:
            found[key] = content
    return found


def _chosen(key: DocumentKey, candidates: list[bytes]) -> bytes | None:
    """The bytes that a key refers to, among those with its identity and number."""
    if not candidates:
        return None
    if key.digest is None:
        if len(set(candidates)) > 1:
            raise error(
                "document.ambiguous",
                f"there are several documents `{key.document}` with the number {key.sequence}",
            )
        return candidates[0]
    for content in candidates:
        if content_digest(content) == key.digest:
            return content
    raise error(
        "document.damaged",
        f"the stored bytes of `{key.document}` (number {key.sequence}) do not match the digest of"
        " the delivery",
    )
