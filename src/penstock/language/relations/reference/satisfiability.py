"""Detects queries that no valid document can match, with the reason."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import lru_cache

from penstock.language.limits import MAX_CACHED_PATTERNS
from penstock.language.relations.reference.document_domain import DocumentDomain
from penstock.language.relations.reference.name_tests import show
from penstock.language.relations.reference.position_contradictions import miscounts
from penstock.language.relations.reference.prover import GAVE_UP, Prover
from penstock.language.relations.reference.tree_patterns import Node, documents
from penstock.language.xpath.ast import (
    And,
    Compare,
    Exists,
    Expr,
    Kind,
    Op,
    Or,
    Path,
    Query,
    Step,
)
from penstock.language.xpath.value_tests import number

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


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


def is_satisfiable(domain: DocumentDomain, query: Query) -> bool:
    """Whether some document provably matches; ``False`` if that is not proved.

    Without a schema, paths that exist do not exclude each other, and an attribute can have any
    value; so a branch with no other conditions, and at most one on a value, is satisfiable unless
    it is proved impossible.
    """
    if domain.schema is not None:
        return False
    return any(
        sum(_comparisons(each) for step in branch.steps for each in step.predicates) <= 1
        and possible_patterns(branch, domain)
        for branch in query.branches
    )


def _comparisons(predicate: Expr) -> float:
    """The number of tests of an attribute's value; infinite if there are other conditions."""
    match predicate:
        case Exists(path):
            own = 0
        case Compare(Path((*_, Step(kind=Kind.ATTRIBUTE))) as path, Op.EQ, str()):
            own = 1
        case And(items):
            return sum(map(_comparisons, items))
        case _:
            return math.inf
    return own + sum(_comparisons(each) for step in path.steps for each in step.predicates)


def _reason(domain: DocumentDomain, path: Path) -> str:
    """The first step or predicate that makes the path unsatisfiable."""
    valid = "no document" if domain.schema is None else "no valid document"
    for index, step in enumerate(path.steps):
        before = path.steps[:index]
        for count in range(len(step.predicates) + 1):
            tried = replace(step, predicates=step.predicates[:count])
            if not possible_patterns(Path((*before, tried)), domain):
                what = f"meets predicate {count} of" if count else f"has {_named(step)} at"
                hint = _number_hint(step.predicates[count - 1]) if count else ""
                return f"{valid} {what} step {index + 1}{hint}"
    return f"{valid} has such a path"


def _number_hint(predicate: Expr) -> str:
    """Explains an order comparison with a string that is not a number, which never holds."""
    match predicate:
        case Compare(_, op, str(text)) if op not in (Op.EQ, Op.NE) and math.isnan(number(text)):
            dates = (
                f"; for dates, compare with `xs:date('{text}')`" if _DATE.fullmatch(text) else ""
            )
            return f": `{op.value}` compares numbers, and '{text}' is not a number{dates}"
        case And(items) | Or(items):
            return next(filter(None, map(_number_hint, items)), "")
        case Exists(path) | Compare(path, _, _):
            nested = (each for step in path.steps for each in step.predicates)
            return next(filter(None, map(_number_hint, nested)), "")
        case _:
            return ""


def _named(step: Step) -> str:
    return "text" if step.kind is Kind.TEXT else f"{step.kind.value} {show(step.test)!r}"
