"""A reference implementation of the pipeline without Spark: delivers the inbox as one batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.documents import Fragment, Header
from penstock.documents.failure_report import internal_error
from penstock.errors import DocumentError
from penstock.workspace import Workspace, bucket_of, open_version
from penstock.workspace.commit_positions import ORDINAL_BITS, commit_deliveries, next_commit
from penstock.workspace.content_digest import content_digest
from penstock.workspace.delta import TableWriter, commit_batch, last_committed_batch
from penstock.workspace.journal import JournalFile
from penstock.workspace.journal_scanner import Found, JournalScanner
from penstock.workspace.table_reader import read_rows
from penstock.workspace.table_schemas import COUNTS, DEAD_LETTERS, DELIVERIES, DOCUMENT_LOG
from penstock.workspace.timestamps import utc_now

STREAM = "reference"


def process(workspace: Workspace) -> None:
    """Deliver the new documents of the inbox as one batch."""
    tables = workspace.tables
    tables.create()
    last = last_committed_batch(tables.counts, STREAM)
    batch = 0 if last is None else last + 1
    documents: list[dict[str, Any]] = []
    processed = _processed(workspace)
    for found in JournalScanner(workspace.inbox.folder).scan(0, workspace.inbox.last_sequence()):
        if isinstance(found, Found):
            with JournalFile(found.path) as file:
                rows_of_entry = file.rows(found.entry).to_pylist()
            documents += [row for row in rows_of_entry if row["sequence"] not in processed]
    uri = workspace.current_version()
    version = open_version(uri)
    rows: dict[str, list[dict[str, Any]]] = {"documents": [], "dead_letters": [], "deliveries": []}
    for row in documents:
        header = Header(
            publisher=row["publisher"], schema=row["schema"], fields=dict(row["fields"])
        )
        try:
            matches = version.matcher.match(row["content"], fragments=True, header=header)
            reason = matches.errors[0] if matches.errors else None
        except Exception as failure:
            reason = internal_error(failure, row["content"])
        if reason is not None:
            rows["dead_letters"].append(_dead_letter(row, reason, batch))
            continue
        rows["documents"].append({**row, "batch": batch})
        for number in matches.ids:
            (subscription,) = version.rows(pa.array([int(number)], pa.int64())).to_pylist()
            rows["deliveries"].append(
                _delivery(row, subscription, matches.fragments[number], batch)
            )
    for name, schema in (
        ("documents", DOCUMENT_LOG),
        ("dead_letters", DEAD_LETTERS),
        ("deliveries", DELIVERIES),
    ):
        commit = next_commit(tables.deliveries) if name == "deliveries" else None
        _commit(getattr(tables, name), schema, rows[name], batch, commit)
    counts = {
        "stream": STREAM,
        "batch": batch,
        "versions": [uri],
        "documents": len(documents),
        "matched": len({row["document"] for row in rows["deliveries"]}),
        "unmatched": 0,
        "dead": len(rows["dead_letters"]),
        "deliveries": len(rows["deliveries"]),
        "bytes": sum(len(row["content"]) for row in documents),
        "last_sequence": max((row["sequence"] for row in documents), default=None),
        "finished_at": utc_now(),
    }
    _commit(tables.counts, COUNTS, [counts], batch)


def _processed(workspace: Workspace) -> set[int]:
    found: set[int] = set()
    for table in (workspace.tables.documents, workspace.tables.dead_letters):
        rows = read_rows(table, None, ["sequence"])
        assert rows is not None
        found.update(row["sequence"] for row in rows.to_pylist())
    return found


def _dead_letter(row: dict[str, Any], error: DocumentError, batch: int) -> dict[str, Any]:
    offset, line, column = error.where or (None, None, None)
    return {
        **row,
        "code": error.code,
        "message": error.message,
        "offset": offset,
        "line": line,
        "column": column,
        "hint": error.hint,
        "path": error.path,
        "report": error.report,
        "batch": batch,
        "refused_at": utc_now(),
    }


def _delivery(
    row: dict[str, Any], subscription: dict[str, Any], fragments: Sequence[Fragment], batch: int
) -> dict[str, Any]:
    text = f"{row['document']}\x1f{subscription['subscription']}"
    rows = None
    if subscription["returns"] == "fragments":
        rows = [
            {
                "kind": each.kind,
                "spans": [{"start": span.start, "end": span.end} for span in each.spans],
                "xml": each.to_xml(),
            }
            for each in fragments
        ]
    return {
        "delivery": hashlib.sha256(text.encode()).hexdigest()[:32],
        "subscriber": subscription["subscriber"],
        "subscription": subscription["subscription"],
        "document": row["document"],
        "publisher": row["publisher"],
        "sequence": row["sequence"],
        "published_at": row["published_at"],
        "delivered_at": utc_now(),
        "batch": batch,
        "fragments": rows,
        "bucket": bucket_of(subscription["subscriber"]),
        "content_digest": content_digest(row["content"]),
    }


def _commit(
    table: str,
    schema: pa.Schema,
    rows: list[dict[str, Any]],
    batch: int,
    commit: int | None = None,
) -> None:
    files = []
    if commit is not None:
        rows.sort(key=lambda row: (row["sequence"], row["subscription"]))
        for ordinal, row in enumerate(rows):
            row["position"] = (commit << ORDINAL_BITS) + ordinal
    for bucket in sorted({row.get("bucket") for row in rows}, key=str):
        partition = {} if bucket is None else {"bucket": str(bucket)}
        writer = TableWriter(table, schema, partition=partition)
        bucket_rows = [row for row in rows if row.get("bucket") == bucket]
        writer.write(pa.Table.from_pylist(bucket_rows, schema=schema))
        files += writer.close()
    if commit is None:
        commit_batch(table, files, stream=STREAM, batch=batch)
    else:
        commit_deliveries(table, files, stream=STREAM, batch=batch, commit=commit)
