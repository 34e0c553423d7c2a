"""The relations between two queries, over all documents or those valid to a schema.

``contains`` compares documents, ``covers`` and ``overlaps`` compare nodes. All are sound: unproved
relations yield the conservative answer. They are exact on linear paths, which have no predicates.

The native core decides them; the reference does with a schema, or if the core is missing.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.language.relations.native_pairs import native_pair
from penstock.language.relations.path_universe import Name, PathUniverse
from penstock.language.relations.reference import decisions as reference
from penstock.language.xpath.ast import Query
from penstock.language.xpath.native_tree import query_of


def contains(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether each document that matches ``q`` matches ``p``; ``False`` if not proved.

    Parameters
    ----------
    p, q
        The more general query, and the more specific one.
    schema
        Consider only documents valid to it.
    single_valued
        Elements that occur at most once per parent, as asserted by the caller.

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
    if schema is None and not single_valued and p.compiled and q.compiled:
        return p.compiled.contains(q.compiled)
    names = tuple(single_valued)
    pair = native_pair(p, q, schema, names)
    if pair is not None:
        return pair[0].contains(pair[1])
    return reference.contains(p, q, schema, single_valued=names)


def covers(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether each node at or under one selected by ``q`` is at or under one selected by ``p``.

    ``False`` if not proved. Parameters as for :func:`contains`.

    Examples
    --------
    >>> from penstock.language import parse
    >>> covers(parse("/a/b"), parse("/a/b/c"))
    True
    >>> covers(parse("/a/b"), parse("/a[b]"))
    False
    """
    if schema is None and not single_valued and p.compiled and q.compiled:
        return p.compiled.covers(q.compiled)
    names = tuple(single_valued)
    pair = native_pair(p, q, schema, names)
    if pair is not None:
        return pair[0].covers(pair[1])
    return reference.covers(p, q, schema, single_valued=names)


def overlaps(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether some document may have a node of one query at or under a node of the other.

    ``True`` unless disjointness is proved. Values exclude each other only if both queries refer to
    the same node: an attribute of one element, or a child that occurs at most once according to the
    schema or the caller. Parameters as for :func:`contains`.

    Examples
    --------
    >>> from penstock.language import parse
    >>> cheap, dear = parse("/items/item[@price < 10]"), parse("/items/item[@price > 30]")
    >>> overlaps(cheap, dear)
    False
    >>> cheap, dear = parse("//item[@price < 10]"), parse("//item[@price > 30]")
    >>> overlaps(cheap, dear)  # items may be nested
    True
    """
    if schema is None and not single_valued and p.compiled and q.compiled:
        return p.compiled.overlaps(q.compiled)
    names = tuple(single_valued)
    pair = native_pair(p, q, schema, names)
    if pair is not None:
        return pair[0].overlaps(pair[1])
    return reference.overlaps(p, q, schema, single_valued=names)


def disjoint(
    p: Query,
    q: Query,
    schema: PathUniverse | None = None,
    *,
    single_valued: Iterable[Name] = (),
) -> bool:
    """Whether the queries provably never overlap: the negation of `overlaps`."""
    return not overlaps(p, q, schema, single_valued=single_valued)


def why_never(query: Query, schema: PathUniverse | None = None) -> str | None:
    """The reason why no document (valid to the schema) can match, else ``None``.

    Exact on linear paths; otherwise sound but incomplete.

    Examples
    --------
    >>> from penstock.language import parse
    >>> why_never(parse("/a[@n < 5]/b")) is None
    True
    >>> why_never(parse("/a[@n < 5][@n > 7]/b"))
    'no document meets predicate 2 of step 1'
    """
    return reference.why_never(query, schema)


def generalise(p: Query, q: Query, schema: PathUniverse | None = None) -> Query:
    """A specific path without ``or``, ``not`` or position that contains both queries.

    If both queries are linear and a most specific linear path exists, the result is at least as
    specific.

    Examples
    --------
    >>> from penstock.language import parse, to_text
    >>> def generalised(p, q):
    ...     return str(to_text(generalise(parse(p), parse(q))))
    >>> generalised("/news/item/title", "/news/flash/title")
    '/news/*/title'
    >>> generalised("/news/item[@n = 3]", "/news/item[@n = 7]/title")
    '/news/item[@n >= 3][@n <= 7]'
    >>> generalised("/a/b/c", "/a//c/d")
    '/a[.//*/*]//c'
    """
    if schema is None and p.compiled and q.compiled:
        return query_of(p.compiled.generalise(q.compiled))
    pair = native_pair(p, q, schema, ())
    if pair is not None:
        return query_of(pair[0].generalise(pair[1]))
    return reference.generalise(p, q, schema)
