"""Minimisation: the smallest part of a query that the same documents match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from penstock.language import KeywordQuery, Query, contains, normalise
from penstock.language.xpath.ast import Compare, Exists, Expr, Path
from penstock.routing.keyword_relations import minimise_keywords

_AnyQuery = TypeVar("_AnyQuery", Query, KeywordQuery)


def minimise(query: _AnyQuery) -> _AnyQuery:
    """The query without redundant branches and predicates, in normal form.

    Every removal is proved by containment in both directions, so the same documents match. The
    selected nodes may differ; routing does not need them.

    Examples
    --------
    >>> from penstock.language import parse, to_text
    >>> str(to_text(minimise(parse("/a[b][.//c]/b[c][@n > 3][@n = 7] | /a/b/c[@n = 7]/@m"))))
    '/a/b/c[@n = 7]/@m | /a/b[c][@n = 7]'
    """
    if isinstance(query, KeywordQuery):
        return minimise_keywords(query)
    return _minimise_path_query(normalise(query))


def _minimise_path_query(query: Query) -> Query:
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in smaller_queries(query):
            if contains(query, smaller) and contains(smaller, query):
                query, is_smaller = normalise(smaller), True
                break
    return query


def smaller_queries(query: Query) -> Iterator[Query]:
    """The query without one of its branches or predicates."""
    branches = query.branches
    for position, path in enumerate(branches):
        others = (branches[:position], branches[position + 1 :])
        if len(branches) > 1:
            yield Query((*others[0], *others[1]))
        for smaller in _smaller_paths(path):
            yield Query((*others[0], smaller, *others[1]))


def _smaller_paths(path: Path) -> Iterator[Path]:
    for position, step in enumerate(path.steps):
        before, after = path.steps[:position], path.steps[position + 1 :]
        for number, predicate in enumerate(step.predicates):
            kept = (step.predicates[:number], step.predicates[number + 1 :])
            yield Path((*before, replace(step, predicates=(*kept[0], *kept[1])), *after))
            for smaller in _smaller_predicates(predicate):
                whole = (*kept[0], smaller, *kept[1])
                yield Path((*before, replace(step, predicates=whole), *after))


def _smaller_predicates(predicate: Expr) -> Iterator[Expr]:
    """A nested path without one of its own predicates."""
    if isinstance(predicate, Exists | Compare):
        for path in _smaller_paths(predicate.path):
            yield replace(predicate, path=path)
