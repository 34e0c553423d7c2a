"""Detects queries that no valid document can match, with the reason."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from penstock.language.limits import MAX_CACHED_PATTERNS
from penstock.language.relations.document_domain import DocumentDomain
from penstock.language.relations.name_tests import show
from penstock.language.relations.position_contradictions import miscounts
from penstock.language.relations.prover import GAVE_UP, Prover
from penstock.language.relations.tree_patterns import Node, documents
from penstock.language.xpath.ast import Kind, Path, Query, Step


@lru_cache(maxsize=MAX_CACHED_PATTERNS)
def possible_patterns(path: Path, domain: DocumentDomain) -> tuple[Node, ...]:
    """The document nodes of the satisfiable patterns of a path."""
    if miscounts(path):
        return ()
    return tuple(document for document in documents(path, domain) if _possible(document, domain))


def _possible(document: Node, domain: DocumentDomain) -> bool:
    try:
        return not Prover(domain).impossible(document, None, None)
    except GAVE_UP:
        return True


def why_impossible(domain: DocumentDomain, query: Query) -> str | None:
    """The reason why no document can match, or ``None``; exact on linear paths."""
    try:
        if any(possible_patterns(branch, domain) for branch in query.branches):
            return None
        reasons = dict.fromkeys(_reason(domain, branch) for branch in query.branches)
    except GAVE_UP:
        return None
    return "; ".join(reasons)


def _reason(domain: DocumentDomain, path: Path) -> str:
    """The first step or predicate that makes the path unsatisfiable."""
    valid = "no document" if domain.schema is None else "no valid document"
    for index, step in enumerate(path.steps):
        before = path.steps[:index]
        for count in range(len(step.predicates) + 1):
            tried = replace(step, predicates=step.predicates[:count])
            if not possible_patterns(Path((*before, tried)), domain):
                what = f"meets predicate {count} of" if count else f"has {_named(step)} at"
                return f"{valid} {what} step {index + 1}"
    return f"{valid} has such a path"


def _named(step: Step) -> str:
    return "text" if step.kind is Kind.TEXT else f"{step.kind.value} {show(step.test)!r}"
