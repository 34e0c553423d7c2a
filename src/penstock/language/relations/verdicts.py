"""The relation of two queries with certainty and explanation, for display."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from penstock.language.relations import witness_documents
from penstock.language.relations.path_universe import Name, PathUniverse
from penstock.language.relations.reference.chain_search import Word
from penstock.language.relations.reference.containment import covers_in, not_contained
from penstock.language.relations.reference.document_domain import DocumentDomain, domain_of
from penstock.language.relations.reference.overlap import meeting
from penstock.language.relations.reference.satisfiability import is_satisfiable, why_impossible
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
    """Neither; a node of one may be at or under a node of the other."""
    DISJOINT = "disjoint"
    """Neither; no node of one is ever at or under a node of the other."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a relation holds."""

    holds: bool
    sure: bool
    """Whether it is proved; if not, ``holds`` is the conservative answer."""
    witness: str | None = None
    """A document that demonstrates it; only for linear paths without a schema."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of a first query ``p`` to a second query ``q``."""

    verdict: Verdict
    explanation: str
    contains: Finding
    """``p`` matches wherever ``q`` does; a witness matches ``q`` alone."""
    contained: Finding
    """``q`` matches wherever ``p`` does; a witness matches ``p`` alone."""
    covers: Finding
    """Nodes selected by ``q`` are at or under nodes selected by ``p``."""
    covered: Finding
    """Nodes selected by ``p`` are at or under nodes selected by ``q``."""
    overlaps: Finding
    """Nodes of the two may overlap; in a witness they do."""

    @property
    def sure(self) -> bool:
        """Whether the verdict is proved; only a possible overlap is reported without proof.

        A closer relation may still hold, if its finding is not proved.
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
    domain = domain_of(schema, frozenset(single_valued))
    exact = is_linear(p) and is_linear(q)
    contains = _contained(domain, p, q, exact)
    contained = _contained(domain, q, p, exact)
    covers, covered = _covers(domain, p, q, exact), _covers(domain, q, p, exact)
    met = meeting(domain, p, q)
    is_sure = (
        met is None
        or (exact and bool(met))
        # Where every node of one lies at or under a node of the other, they overlap in any document
        # that the former matches.
        or (covers.holds and is_satisfiable(domain, q))
        or (covered.holds and is_satisfiable(domain, p))
    )
    overlaps = Finding(met is not None, is_sure, _witness(domain, met, exact, p, q))
    verdict = _verdict(contains, contained, overlaps)
    return Relation(
        verdict,
        _never(domain, p, q) or _explanation(verdict, met, exact),
        contains,
        contained,
        covers,
        covered,
        overlaps,
    )


def is_linear(query: Query) -> bool:
    """Whether the query has no predicates, so that relations are exact."""
    return not any(step.predicates for path in query.branches for step in path.steps)


def _contained(domain: DocumentDomain, p: Query, q: Query, exact: bool) -> Finding:
    missed = not_contained(domain, p, q)
    return Finding(
        missed is None,
        missed is None or (exact and bool(missed)),
        _witness(domain, missed, exact, p, q),
    )


def _covers(domain: DocumentDomain, p: Query, q: Query, exact: bool) -> Finding:
    holds = covers_in(domain, p, q)
    return Finding(holds, holds or exact)


def _witness(
    domain: DocumentDomain, word: Word | None, exact: bool, p: Query, q: Query
) -> str | None:
    if not word or not exact or domain.schema is not None:
        return None
    return witness_documents.document(word, p, q)


def _verdict(contains: Finding, contained: Finding, overlaps: Finding) -> Verdict:
    if contains.holds and contained.holds:
        return Verdict.EQUAL
    if contains.holds:
        return Verdict.CONTAINS
    if contained.holds:
        return Verdict.CONTAINED
    return Verdict.OVERLAPS if overlaps.holds else Verdict.DISJOINT


def _never(domain: DocumentDomain, p: Query, q: Query) -> str | None:
    for which, query in (("first", p), ("second", q)):
        reason = why_impossible(domain, query)
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
        return f"{said}; nodes of both can meet at {witness_documents.path(met)}"
    return f"{said} as far as can be proved; nodes of both may meet"
