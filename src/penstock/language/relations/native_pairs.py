"""Pairs of queries compiled by the native core."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.language.relations.path_universe import Name, PathUniverse
from penstock.language.xpath.ast import Query
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import CompiledQuery


def native_pair(
    p: Query, q: Query, schema: PathUniverse | None, single_valued: tuple[Name, ...]
) -> tuple[CompiledQuery, CompiledQuery] | None:
    """Both queries compiled; ``None`` if the reference must decide.

    That is so with a schema, without the native core, and for syntax trees that no parser made:
    larger than queries may be, or with lone surrogates.
    """
    if schema is not None or native is None:
        return None
    if single_valued:
        with suppress(ValueError):
            names = list(single_valued)
            return native.CompiledQuery(p, names), native.CompiledQuery(q, names)
        return None
    one, two = p.compiled, q.compiled
    if one is None or two is None:
        try:
            one, two = compiled(p), compiled(q)
        except ValueError:
            return None
    return one, two


def compiled(query: Query) -> CompiledQuery:
    """The compiled query, which is kept with the query.

    Raises
    ------
    ValueError
        The native core does not accept the syntax tree.
    """
    if query.compiled is None:
        object.__setattr__(query, "compiled", native.CompiledQuery(query, []))
        assert query.compiled is not None
    return query.compiled
