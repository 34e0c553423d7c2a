"""Witness documents of relations: one chain of elements ending with the witness node."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from penstock.language.relations.reference.chain_search import Word
from penstock.language.relations.reference.name_tests import show
from penstock.language.xpath.ast import Kind, NameTest, Query


def document(word: Word, *queries: Query) -> str:
    """The document that consists of this chain; unspecified names are names that no query mentions.

    Only for linear queries: predicates are not satisfied.
    """
    tests = {step.test for query in queries for path in query.branches for step in path.steps}
    locals_used = {test.local for test in (*tests, *(name for _, name in word))}
    uris_used = {test.uri for test in (*tests, *(name for _, name in word))}
    local = _unused("x", locals_used)
    uri = _unused("urn:x", uris_used)
    any_uri = uri if NameTest("", None) in tests else ""
    opened: list[str] = []
    text = content = default = ""
    for kind, name in word:
        named = name.local if name.local is not None else local
        space = name.uri
        if space is None:
            space = any_uri if name.local is None else uri
        if kind is Kind.TEXT:
            content = "x"
        elif kind is Kind.ATTRIBUTE:
            declared = f" xmlns:n={quoteattr(space)} n:" if space else " "
            text = f'{text[:-1]}{declared}{named}="">'
        else:
            text += f"<{named}>" if space == default else f"<{named} xmlns={quoteattr(space)}>"
            default = space
            opened.append(named)
    return text + content + "".join(f"</{name}>" for name in reversed(opened))


def path(word: Word) -> str:
    """The chain for display."""
    marks = {Kind.ELEMENT: "/", Kind.ATTRIBUTE: "/@", Kind.TEXT: "/"}
    return "".join(
        marks[kind] + ("text()" if kind is Kind.TEXT else show(name)) for kind, name in word
    )


def _unused(base: str, used: Iterable[str | None]) -> str:
    taken = set(used)
    candidate, count = base, 0
    while candidate in taken:
        count += 1
        candidate = f"{base}{count}"
    return candidate
