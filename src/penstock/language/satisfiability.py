"""Queries that no valid document can match, and the reason."""

from __future__ import annotations

from dataclasses import replace

from penstock.language.ast import Path, Query
from penstock.language.containment import patterns_of
from penstock.language.names import show
from penstock.language.proof import OutOfStepsError, Prover
from penstock.language.world import World


def impossible_in(world: World, query: Query) -> bool:
    """Whether provably no document of the world matches."""
    return all(_impossible(world, branch) for branch in query.branches)


def why_impossible(world: World, query: Query) -> str | None:
    """Why no document of the world can match, ``None`` where one may; exact on linear paths."""
    if not impossible_in(world, query):
        return None
    reasons = dict.fromkeys(_reason(world, branch) for branch in query.branches)
    return "; ".join(reasons)


def _impossible(world: World, path: Path) -> bool:
    prover = Prover(world)
    try:
        return all(prover.impossible(document, None, None) for document in patterns_of(path, world))
    except OutOfStepsError:
        return False


def _reason(world: World, path: Path) -> str:
    """The first step, and in it the first predicate, with which the path becomes impossible."""
    valid = "no document" if world.schema is None else "no valid document"
    for index, step in enumerate(path.steps):
        before = path.steps[:index]
        bare = replace(step, predicates=())
        if _impossible(world, Path((*before, bare))):
            what = step.kind.value if step.kind.value == "text" else show(step.test)
            return f"{valid} has {step.kind.value} {what!r} at step {index + 1}"
        for count in range(1, len(step.predicates) + 1):
            if _impossible(
                world, Path((*before, replace(step, predicates=step.predicates[:count])))
            ):
                return f"{valid} meets predicate {count} of step {index + 1}"
    return f"{valid} has such a path"
