"""The reference of the relations: the same functions as the public ones, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.language.relations.path_universe import Name, PathUniverse
from penstock.language.relations.reference.containment import contains_in, covers_in
from penstock.language.relations.reference.document_domain import domain_of
from penstock.language.relations.reference.generalisation import generalise
from penstock.language.relations.reference.overlap import overlaps_in
from penstock.language.relations.reference.satisfiability import why_impossible
from penstock.language.xpath.ast import Query

__all__ = ["contains", "covers", "generalise", "overlaps", "why_never"]


def contains(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether each document that matches ``q`` provably matches ``p``."""
    return contains_in(domain_of(schema, frozenset(single_valued)), p, q)


def covers(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether each node selected by ``q`` is provably at or under one selected by ``p``."""
    return covers_in(domain_of(schema, frozenset(single_valued)), p, q)


def overlaps(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether the two cannot be proved disjoint."""
    return overlaps_in(domain_of(schema, frozenset(single_valued)), p, q)


def why_never(query: Query, schema: PathUniverse | None = None) -> str | None:
    """The reason why no document (valid to the schema) can match, else ``None``."""
    return why_impossible(domain_of(schema), query)
