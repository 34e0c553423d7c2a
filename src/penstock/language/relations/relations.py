"""How two queries relate, over all documents or over those valid to a schema.

``contains`` speaks of documents, ``covers`` and ``overlaps`` of nodes. All are sound: what they
prove is true, and where they cannot prove it they take the side on which nothing is lost. On linear
paths, those without predicates, they are exact.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.language.relations.containment import contains_in, covers_in
from penstock.language.relations.overlap import overlaps_in
from penstock.language.relations.satisfiability import why_impossible
from penstock.language.relations.universe import Name, PathUniverse
from penstock.language.relations.world import world
from penstock.language.xpath.ast import Query


def contains(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether each document that matches ``q`` matches ``p``; ``False`` where that is not proved.

    Parameters
    ----------
    p, q
        The query that should match more, and the one that should match less.
    schema
        Count only documents valid to it.
    single_valued
        Elements that occur at most once in their parent, by the caller's word.

    Examples
    --------
    >>> from penstock.language import parse
    >>> contains(parse("/product/*"), parse("/product/computers"))
    True
    >>> contains(parse("/a/b"), parse("/a[b]"))
    True
    >>> contains(parse("/a[@n < 10]"), parse("/a[@n = 5]/b"))
    True
    """
    return contains_in(world(schema, frozenset(single_valued)), p, q)


def covers(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether each node at or under one that ``q`` selects is at or under one ``p`` selects.

    ``False`` where that is not proved. Parameters as for :func:`contains`.

    Examples
    --------
    >>> from penstock.language import parse
    >>> covers(parse("/a/b"), parse("/a/b/c"))
    True
    >>> covers(parse("/a/b"), parse("/a[b]"))
    False
    """
    return covers_in(world(schema, frozenset(single_valued)), p, q)


def overlaps(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether some document may have a node of one query at or under a node of the other.

    ``True`` where the opposite is not proved. Values exclude each other only where both queries
    must speak of one and the same node: an attribute of one element, or a child that occurs at most
    once by the schema or by the caller's word. Parameters as for :func:`contains`.

    Examples
    --------
    >>> from penstock.language import parse
    >>> cheap, dear = parse("/items/item[@price < 10]"), parse("/items/item[@price > 30]")
    >>> overlaps(cheap, dear)
    False
    >>> cheap, dear = parse("//item[@price < 10]"), parse("//item[@price > 30]")
    >>> overlaps(cheap, dear)  # one item may stand in the other
    True
    """
    return overlaps_in(world(schema, frozenset(single_valued)), p, q)


def disjoint(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether provably no document has nodes of the two that meet: the opposite of `overlaps`."""
    return not overlaps(p, q, schema, single_valued=single_valued)


def why_never(query: Query, schema: PathUniverse | None = None) -> str | None:
    """Why no document, or none valid to the schema, can ever match; ``None`` where one may.

    Exact on linear paths; elsewhere what is flagged is sure, and what is not flagged may still
    never match.

    Examples
    --------
    >>> from penstock.language import parse
    >>> why_never(parse("/a[@n < 5]/b")) is None
    True
    >>> why_never(parse("/a[@n < 5][@n > 7]/b"))
    'no document meets predicate 2 of step 1'
    """
    return why_impossible(world(schema), query)
