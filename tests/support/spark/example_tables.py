"""Small tables of documents and subscriptions, and the expected matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from penstock.documents import Document, Header
from penstock.workspace.table_schemas import DOCUMENTS, SUBSCRIPTIONS
from support.strategies.query_kinds import kind_of, matched_by

START = datetime(2026, 3, 1, tzinfo=UTC)


def document_table(
    contents: Sequence[bytes], *, publisher: str = "wire", schema: str = ""
) -> pa.Table:
    """Documents of one publisher and schema, in the given order."""
    rows = [
        {
            "document": Document(content, Header(publisher=publisher)).identity,
            "publisher": publisher,
            "schema": schema,
            "fields": [],
            "sequence": number,
            "published_at": START + timedelta(seconds=number),
            "content": content,
        }
        for number, content in enumerate(contents)
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


def subscription_table(queries: Mapping[str, str], **options: object) -> pa.Table:
    """Subscriptions of both query kinds by name; the part before the dot is the subscriber."""
    rows = [
        {
            "subscription": name,
            "subscriber": name.partition(".")[0],
            "kind": kind_of(query),
            "query": query,
            "namespaces": [],
            "default_namespace": None,
            "returns": "document",
            "starts_at": None,
            "expires_at": None,
            **options,
        }
        for name, query in queries.items()
    ]
    return pa.Table.from_pylist(rows, schema=SUBSCRIPTIONS)


def expected_matches(queries: Mapping[str, str], documents: pa.Table) -> set[tuple[str, str]]:
    """Document and subscription of every match, matched one document at a time."""
    matched = matched_by(queries)
    rows = documents.select(["document", "content"]).to_pylist()
    return {(row["document"], name) for row in rows for name in matched(row["content"])}
