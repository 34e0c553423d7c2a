"""Whether one query matches wherever another does, and whether it selects all the other selects."""

from __future__ import annotations

from penstock.language.relations.chains import Word
from penstock.language.relations.goals import goals_of
from penstock.language.relations.proof import GAVE_UP, Prover
from penstock.language.relations.satisfiability import possible_patterns
from penstock.language.relations.world import World
from penstock.language.xpath.ast import Path, Query


def contains_in(world: World, p: Query, q: Query) -> bool:
    """Whether each document of the world that matches ``q`` provably matches ``p``."""
    return not_contained(world, p, q) is None


def not_contained(world: World, p: Query, q: Query) -> Word | None:
    """``None`` where ``p`` contains ``q``; else the way down to a node by which it may not."""
    wider = world.wider()
    if wider is not None and contains_in(wider, p, q):
        return None
    prover = Prover(world)
    try:
        for branch in _others(q, p):
            for document in possible_patterns(branch, world):
                missed = prover.missed(document, None, p.branches)
                if missed is not None:
                    return missed
    except GAVE_UP:
        return ()
    return None


def covers_in(world: World, p: Query, q: Query) -> bool:
    """Whether each node that ``q`` selects is provably at or under one that ``p`` selects."""
    wider = world.wider()
    if wider is not None and covers_in(wider, p, q):
        return True
    prover = Prover(world)
    goals = goals_of(p.branches)
    try:
        return all(
            prover.missed_above(document.spine_nodes(), None, goals) is None
            for branch in _others(q, p)
            for document in possible_patterns(branch, world)
        )
    except GAVE_UP:
        return False


def _others(q: Query, p: Query) -> list[Path]:
    """The branches of ``q`` that ``p`` does not have too."""
    return [branch for branch in q.branches if branch not in p.branches]
