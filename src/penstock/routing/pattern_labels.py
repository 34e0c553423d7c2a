"""The labels and tokens of a query, by which indexes file its pattern."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.language import KeywordQuery, Query
from penstock.language.keywords.query import PHRASE_SEPARATOR, Mode
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    Contains,
    Count,
    Exists,
    Expr,
    Kind,
    Not,
    Or,
    Path,
    StartsWith,
    Step,
    StringTest,
)

Label = str
"""A name of an element or attribute, or a word with :data:`KEYWORD_MARK` before it."""

KEYWORD_MARK = "\n"
"""Distinguishes words from names. Every keyword query requires the mark itself, which no path
does."""


def required_labels(query: Query | KeywordQuery) -> frozenset[Label]:
    """Labels that every query contained in this one mentions.

    Examples
    --------
    >>> from penstock.language import parse
    >>> sorted(required_labels(parse("/a/*[@n = 3][not(b)]/c | /a/c[@n]")))
    ['a', 'c', 'n']
    """
    if isinstance(query, KeywordQuery):
        words = _words(query) if query.mode is Mode.ALL else frozenset()
        return words | {KEYWORD_MARK}
    return frozenset.intersection(
        *(frozenset(_path_labels(path, required=True)) for path in query.branches)
    )


def mentioned_labels(query: Query | KeywordQuery) -> frozenset[Label]:
    """All labels of a query."""
    if isinstance(query, KeywordQuery):
        return _words(query) | {KEYWORD_MARK}
    return frozenset(
        label for path in query.branches for label in _path_labels(path, required=False)
    )


def tokens(query: Query | KeywordQuery) -> tuple[str, ...]:
    """The steps of the first branch without predicates, or the keywords; for comparison only."""
    if isinstance(query, KeywordQuery):
        return query.keywords
    return tuple(map(_token, query.branches[0].steps))


def _token(step: Step) -> str:
    axis = "//" if step.axis is Axis.DESCENDANT else "/"
    return f"{step.test.local or '*'} {step.test.uri or ''} {step.kind.value} {axis}"


def _words(query: KeywordQuery) -> frozenset[Label]:
    return frozenset(
        f"{KEYWORD_MARK}{word}"
        for keyword in query.keywords
        for word in keyword.split(PHRASE_SEPARATOR)
    )


def _path_labels(path: Path, *, required: bool) -> Iterator[Label]:
    for step in path.steps:
        yield from _step_labels(step, required=required)


def _step_labels(step: Step, *, required: bool) -> Iterator[Label]:
    if step.test.local is not None and step.test.uri is not None and step.kind is not Kind.TEXT:
        yield f"{{{step.test.uri}}}{step.test.local}" if step.test.uri else step.test.local
    for predicate in step.predicates:
        yield from _test_labels(predicate, required=required)


def _test_labels(expr: Expr, *, required: bool) -> Iterator[Label]:
    match expr:
        case And(items):
            for item in items:
                yield from _test_labels(item, required=required)
        case Exists(path) | Compare(path=path):
            yield from _path_labels(path, required=required)
        case _ if required:
            # What remains may hold without the nodes that it names.
            return
        case Or(items):
            for item in items:
                yield from _test_labels(item, required=False)
        case Not(item):
            yield from _test_labels(item, required=False)
        case ComparePaths(left=left, right=right):
            yield from _path_labels(left, required=False)
            yield from _path_labels(right, required=False)
        case Contains() | StartsWith() | StringTest() | Count():
            yield from _path_labels(expr.path, required=False)
        case _:
            return
