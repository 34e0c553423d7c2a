"""Subscription files: every line becomes a subscription or an error.

The first byte selects text or JSON Lines, the rest is the file.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from penstock.cli.subscription_file import add_all, read
from penstock.errors import QueryError, SubscriptionFileError
from penstock.language import why_never
from penstock.matching import KeywordIndex, SubscriptionIndex

DICTIONARY = "queries.dict"

_FOLDER = tempfile.TemporaryDirectory(prefix="penstock-fuzz-")
_SUFFIXES = (".txt", ".jsonl")


def seeds() -> list[bytes]:
    """Valid files of both formats."""
    texts = [
        b"# comment\none\t//a/b\n@namespace p=urn:p\ntwo\t//p:a[@k='1']\n",
        b"@kind keywords\nthree\tstorm OR gale\n@kind xpath\n@default-namespace urn:q\nfour\t/a\n",
    ]
    rows = [
        b'{"id": "one", "query": "//a[b=1]"}\n{"id": "two", "kind": "keywords", "query": "a b"}\n',
        b'{"id": "3", "query": "//p:a", "namespaces": {"p": "urn:p"}, "default_namespace": "u"}\n',
    ]
    deep = b'{"id": ' + b"[" * 3000 + b"\n" + b'{"id": ' + b"1" * 5000 + b"}\n"
    return [*(b"\0" + text for text in texts), *(b"\1" + row for row in [*rows, deep])]


def run_input(data: bytes) -> None:
    """Read a subscription file and add its subscriptions to the indexes."""
    if not data:
        return
    path = Path(_FOLDER.name) / f"subscriptions{_SUFFIXES[data[0] % len(_SUFFIXES)]}"
    path.write_bytes(data[1:])
    reasons: list[SubscriptionFileError] = []
    entries = list(read(path, reasons.append))
    order, refused = add_all(SubscriptionIndex(), KeywordIndex(), entries)
    assert len(order) <= len(entries)
    assert all(reason.where is not None and reason.where.line >= 1 for reason in reasons)
    assert all(each.place(path) for each in refused)
    for entry in entries:
        if entry.kind == "xpath":
            with contextlib.suppress(QueryError):
                why_never(entry.subscription.parsed)
