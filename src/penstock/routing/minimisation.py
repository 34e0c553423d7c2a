"""Minimisation: the smallest part of a query that the same documents match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from penstock.language import KeywordQuery, Query, contains, normalise
from penstock.language.xpath.ast import Compare, Exists, Expr, Path
from penstock.routing.keyword_relations import minimise_keywords
from penstock.routing.limits import MINIMISATION_TRIALS_MAX
from penstock.routing.pattern_labels import Label, mentioned_labels, required_labels

_AnyQuery = TypeVar("_AnyQuery", Query, KeywordQuery)


def minimise(query: _AnyQuery) -> _AnyQuery:
    """The query without redundant branches and predicates, in normal form.

    Every removal is proved by containment in both directions, so the same documents match. The
    selected nodes may differ; routing does not need them. At most
    :data:`~penstock.routing.limits.MINIMISATION_TRIALS_MAX` removals are tried.

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
    trials = 0
    while True:
        reduced, count = _reduced(query, MINIMISATION_TRIALS_MAX - trials)
        trials += count
        if reduced is query:
            return query
        query = normalise(reduced)


def _reduced(query: Query, trials_max: int) -> tuple[Query, int]:
    """The query without what proved redundant in one pass, and the number of trials.

    What was tried before a removal is not tried again: it is no less necessary than before.
    """
    kept = trials = 0
    labels = _RequiredLabels()
    while trials < trials_max:
        smaller = next(islice(smaller_queries(query), kept, None), None)
        if smaller is None:
            break
        trials += 1
        if _contains(query, smaller, labels) and _contains(smaller, query, labels):
            query = smaller
        else:
            kept += 1
    return query, trials


class _RequiredLabels:
    """The labels that branches require, computed once for each of them."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Path, frozenset[Label]]] = {}
        """By ``id``: to hash a path takes longer. The path is kept, and so is its ``id``."""

    def of(self, branch: Path) -> frozenset[Label]:
        """The labels that a branch requires."""
        if id(branch) not in self._found:
            self._found[id(branch)] = branch, required_labels(Query((branch,)))
        return self._found[id(branch)][1]


def _contains(p: Query, q: Query, required: _RequiredLabels) -> bool:
    """Whether each document matching ``q`` provably matches ``p``, branch by branch.

    A proof needs only those branches of ``p`` whose labels occur in that of ``q``. Of a long union,
    these are few, while the time of a proof grows with all branches.
    """
    known = {id(each) for each in p.branches}
    for branch in q.branches:
        if id(branch) not in known:
            single = Query((branch,))
            labels = mentioned_labels(single)
            able = tuple(each for each in p.branches if required.of(each) <= labels)
            if not able or not contains(Query(able), single):
                return False
    return True


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
