"""Decides containment and coverage of queries."""

from __future__ import annotations

from penstock.language.relations.reference.chain_search import Word
from penstock.language.relations.reference.document_domain import DocumentDomain
from penstock.language.relations.reference.goal_automaton import goals_of
from penstock.language.relations.reference.prover import GAVE_UP, Prover
from penstock.language.relations.reference.satisfiability import possible_patterns
from penstock.language.xpath.ast import Path, Query


def contains_in(domain: DocumentDomain, p: Query, q: Query) -> bool:
    """Whether each document of the domain that matches ``q`` provably matches ``p``."""
    return not_contained(domain, p, q) is None


def not_contained(domain: DocumentDomain, p: Query, q: Query) -> Word | None:
    """``None`` if ``p`` contains ``q``, else the path to a node that may violate containment."""
    wider = domain.wider()
    if wider is not None and contains_in(wider, p, q):
        return None
    prover = Prover(domain)
    try:
        for branch in _others(q, p):
            for document in possible_patterns(branch, domain):
                missed = prover.missed(document, None, p.branches)
                if missed is not None:
                    return missed
    except GAVE_UP:
        return ()
    return None


def covers_in(domain: DocumentDomain, p: Query, q: Query) -> bool:
    """Whether each node selected by ``q`` is provably at or under one selected by ``p``."""
    wider = domain.wider()
    if wider is not None and covers_in(wider, p, q):
        return True
    prover = Prover(domain)
    goals = goals_of(p.branches)
    try:
        return all(
            prover.missed_above(document.spine_nodes(), None, goals) is None
            for branch in _others(q, p)
            for document in possible_patterns(branch, domain)
        )
    except GAVE_UP:
        return False


def _others(q: Query, p: Query) -> list[Path]:
    """The branches of ``q`` that are not branches of ``p``."""
    return [branch for branch in q.branches if branch not in p.branches]
