"""One answer about two queries, how sure it is, and why: for people and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from penstock.language.relations import witness
from penstock.language.relations.chains import Word
from penstock.language.relations.containment import covers_in, not_contained
from penstock.language.relations.overlap import meeting
from penstock.language.relations.satisfiability import why_impossible
from penstock.language.relations.universe import Name, PathUniverse
from penstock.language.relations.world import World, world
from penstock.language.xpath.ast import Query


class Verdict(Enum):
    """The closest relation between two queries."""

    EQUAL = "equal"
    """The same documents match both."""
    CONTAINS = "contains"
    """Each document that matches the second matches the first."""
    CONTAINED = "contained"
    """Each document that matches the first matches the second."""
    OVERLAPS = "overlaps"
    """Neither, and a node of one may lie at or under a node of the other."""
    DISJOINT = "disjoint"
    """Neither, and no node of one ever lies at or under a node of the other."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a relation holds."""

    holds: bool
    sure: bool
    """Proved; where it is not, ``holds`` is the side on which nothing is lost."""
    witness: str | None = None
    """A document that shows it, where one could be made: only of linear paths without a schema."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a first query ``p`` and a second query ``q`` relate."""

    verdict: Verdict
    explanation: str
    contains: Finding
    """``p`` matches wherever ``q`` does; a witness matches ``q`` alone."""
    contained: Finding
    """``q`` matches wherever ``p`` does; a witness matches ``p`` alone."""
    covers: Finding
    """What ``q`` selects lies at or under what ``p`` selects."""
    covered: Finding
    """What ``p`` selects lies at or under what ``q`` selects."""
    overlaps: Finding
    """Nodes of the two may meet; in a witness they do."""

    @property
    def sure(self) -> bool:
        """Whether the verdict is proved; only that nodes may meet is also said without proof.

        A closer relation may still hold: that it does not is as sure as its finding is.
        """
        return self.verdict is not Verdict.OVERLAPS or self.overlaps.sure


def relate(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> Relation:
    """How two queries relate; parameters as for ``contains``.

    Examples
    --------
    >>> from penstock.language import parse
    >>> relation = relate(parse("/product/*"), parse("/product/computers"))
    >>> relation.verdict.value, relation.sure
    ('contains', True)
    >>> relation.contained.witness
    '<product><x></x></product>'
    >>> relate(parse("/a[@n < 5]"), parse("/a[@n > 7]")).explanation
    'no node of one ever lies at or under a node of the other'
    """
    here = world(schema, frozenset(single_valued))
    exact = is_linear(p) and is_linear(q)
    contains = _contained(here, p, q, exact)
    contained = _contained(here, q, p, exact)
    met = meeting(here, p, q)
    overlaps = Finding(
        met is not None, met is None or (exact and bool(met)), _witness(here, met, exact, p, q)
    )
    verdict = _verdict(contains, contained, overlaps)
    return Relation(
        verdict,
        _never(here, p, q) or _explanation(verdict, met, exact),
        contains,
        contained,
        _covers(here, p, q, exact),
        _covers(here, q, p, exact),
        overlaps,
    )


def is_linear(query: Query) -> bool:
    """Whether the query is made of paths without predicates, on which relations are exact."""
    return not any(step.predicates for path in query.branches for step in path.steps)


def _contained(here: World, p: Query, q: Query, exact: bool) -> Finding:
    missed = not_contained(here, p, q)
    return Finding(
        missed is None,
        missed is None or (exact and bool(missed)),
        _witness(here, missed, exact, p, q),
    )


def _covers(here: World, p: Query, q: Query, exact: bool) -> Finding:
    holds = covers_in(here, p, q)
    return Finding(holds, holds or exact)


def _witness(here: World, word: Word | None, exact: bool, p: Query, q: Query) -> str | None:
    if not word or not exact or here.schema is not None:
        return None
    return witness.document(word, p, q)


def _verdict(contains: Finding, contained: Finding, overlaps: Finding) -> Verdict:
    if contains.holds and contained.holds:
        return Verdict.EQUAL
    if contains.holds:
        return Verdict.CONTAINS
    if contained.holds:
        return Verdict.CONTAINED
    return Verdict.OVERLAPS if overlaps.holds else Verdict.DISJOINT


def _never(here: World, p: Query, q: Query) -> str | None:
    for which, query in (("first", p), ("second", q)):
        reason = why_impossible(here, query)
        if reason is not None:
            return f"the {which} never matches: {reason}"
    return None


def _explanation(verdict: Verdict, met: Word | None, exact: bool) -> str:
    said = {
        Verdict.EQUAL: "the same documents match both",
        Verdict.CONTAINS: "each document that matches the second matches the first",
        Verdict.CONTAINED: "each document that matches the first matches the second",
        Verdict.OVERLAPS: "neither contains the other",
        Verdict.DISJOINT: "no node of one ever lies at or under a node of the other",
    }[verdict]
    if verdict is Verdict.DISJOINT:
        return said
    if met is None:
        return f"{said}, yet no node of one ever lies at or under a node of the other"
    if verdict is not Verdict.OVERLAPS:
        return said
    if exact and met:
        return f"{said}; nodes of both can meet at {witness.path(met)}"
    return f"{said} as far as can be proved; nodes of both may meet"
