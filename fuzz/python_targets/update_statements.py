"""Update statements: parsed or refused with a position; what is printed parses to the same."""

from __future__ import annotations

import contextlib

from penstock.errors import QueryError, UpdateError
from penstock.language.updates import parse_statement, parse_subscription, statement_text

DICTIONARY = "queries.dict"


def seeds() -> list[bytes]:
    """Statements with every construct."""
    return [
        b'*/Restaurant!insert(Entree/Name/"Black bean soup")',
        b"Restaurant/Entree!copy(//(Restaurant/Entree)[0]/*)",
        b"//p:a[@b = 'c' and not(text() < 2)][-1]/..!moveAfter(.//comment()[contains(., 'x')])",
        b"/a/pi()!update('v')",
        b"//Item/Price!max()",
    ]


def run_input(data: bytes) -> None:
    """Parse a statement and a subscription."""
    text = data.decode("utf-8", "surrogateescape")
    namespaces = {"p": "urn:p"}
    refusal: UpdateError | None = None
    try:
        statement = parse_statement(text, namespaces=namespaces)
        assert parse_statement(statement_text(statement), namespaces=namespaces) == statement
    except UpdateError as refused:
        refusal = refused
    assert refusal is None or (refusal.where is not None and refusal.where.offset <= len(text))
    with contextlib.suppress(QueryError):
        parse_subscription(text, namespaces=namespaces)
