"""Queries that no valid document can match, and the reason."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from penstock.language.limits import MAX_PATTERNS_KEPT
from penstock.language.relations.contradiction import miscounts
from penstock.language.relations.name_tests import show
from penstock.language.relations.patterns import Node, documents
from penstock.language.relations.proof import GAVE_UP, Prover
from penstock.language.relations.world import World
from penstock.language.xpath.ast import Kind, Path, Query, Step


@lru_cache(maxsize=MAX_PATTERNS_KEPT)
def possible_patterns(path: Path, world: World) -> tuple[Node, ...]:
    """The document nodes of the patterns of a path that some document of the world may have."""
    if miscounts(path):
        return ()
    return tuple(document for document in documents(path, world) if _possible(document, world))


def _possible(document: Node, world: World) -> bool:
    try:
        return not Prover(world).impossible(document, None, None)
    except GAVE_UP:
        return True


def why_impossible(world: World, query: Query) -> str | None:
    """Why no document of the world can match, ``None`` where one may; exact on linear paths."""
    try:
        if any(possible_patterns(branch, world) for branch in query.branches):
            return None
        reasons = dict.fromkeys(_reason(world, branch) for branch in query.branches)
    except GAVE_UP:
        return None
    return "; ".join(reasons)


def _reason(world: World, path: Path) -> str:
    """The first step, and in it the first predicate, with which the path becomes impossible."""
    valid = "no document" if world.schema is None else "no valid document"
    for index, step in enumerate(path.steps):
        before = path.steps[:index]
        for count in range(len(step.predicates) + 1):
            tried = replace(step, predicates=step.predicates[:count])
            if not possible_patterns(Path((*before, tried)), world):
                what = f"meets predicate {count} of" if count else f"has {_named(step)} at"
                return f"{valid} {what} step {index + 1}"
    return f"{valid} has such a path"


def _named(step: Step) -> str:
    return "text" if step.kind is Kind.TEXT else f"{step.kind.value} {show(step.test)!r}"
