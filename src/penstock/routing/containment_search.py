"""Finds the patterns of a set that contain a pattern, or are contained in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from typing import Protocol

from penstock.language import KeywordQuery
from penstock.language.keywords.query import Mode
from penstock.language.xpath.ast import (
    And,
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
from penstock.routing.limits import LABEL_SUBSETS_MAX
from penstock.routing.patterns import Pattern

Label = str
"""An element name, attribute name or word, with its kind."""


class ContainmentSearch(Protocol):
    """A changing set of patterns that answers which of them are in relation to another pattern."""

    def add(self, pattern: Pattern) -> None:
        """Add a pattern that is not in the set."""

    def discard(self, pattern: Pattern) -> None:
        """Remove a pattern, if present."""

    def containers(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that contain this one, in the order of their keys."""

    def contained(self, pattern: Pattern) -> list[Pattern]:
        """The patterns of the set that this one contains, in the order of their keys."""


class ExhaustiveSearch:
    """Tests every pattern of the set: the reference."""

    def __init__(self) -> None:
        self._patterns: set[Pattern] = set()

    def add(self, pattern: Pattern) -> None:
        """Add a pattern."""
        self._patterns.add(pattern)

    def discard(self, pattern: Pattern) -> None:
        """Remove a pattern, if present."""
        self._patterns.discard(pattern)

    def containers(self, pattern: Pattern) -> list[Pattern]:
        """The patterns that contain this one."""
        return _by_key(each for each in self._patterns if each.contains(pattern))

    def contained(self, pattern: Pattern) -> list[Pattern]:
        """The patterns that this one contains."""
        return _by_key(each for each in self._patterns if pattern.contains(each))


class LabelIndex:
    """Tests only patterns whose labels permit the relation.

    A query can contain another only if the other mentions every label that it *requires*: names
    outside of ``or`` and ``not``. Patterns are filed under their set of required labels, whose
    subsets are enumerated to find containers, and under each mentioned label, to find what is
    contained. A pattern that no document matches is contained in all others, and is only found
    where the labels permit it.

    Examples
    --------
    >>> index = LabelIndex()
    >>> for query in ("/news//item", "//item[@lang]", "/news/flash"):
    ...     index.add(Pattern.of_path(query))
    >>> [str(pattern) for pattern in index.containers(Pattern.of_path("/news/item[@lang = 'en']"))]
    ['//item[@lang]', '/news//item']
    """

    def __init__(self) -> None:
        self._by_required: dict[frozenset[Label], dict[Pattern, None]] = {}
        self._by_label: dict[Label, dict[Pattern, frozenset[Label]]] = {}
        self._all: dict[Pattern, None] = {}

    def add(self, pattern: Pattern) -> None:
        """Add a pattern."""
        self._all[pattern] = None
        self._by_required.setdefault(required_labels(pattern), {})[pattern] = None
        mentioned = mentioned_labels(pattern)
        for label in mentioned:
            self._by_label.setdefault(label, {})[pattern] = mentioned

    def discard(self, pattern: Pattern) -> None:
        """Remove a pattern, if present."""
        if self._all.pop(pattern, self) is self:
            return
        required = required_labels(pattern)
        self._by_required[required].pop(pattern)
        if not self._by_required[required]:
            del self._by_required[required]
        for label in mentioned_labels(pattern):
            self._by_label[label].pop(pattern)
            if not self._by_label[label]:
                del self._by_label[label]

    def containers(self, pattern: Pattern) -> list[Pattern]:
        """The patterns that contain this one."""
        candidates = chain.from_iterable(self._filed(mentioned_labels(pattern)))
        return _by_key(each for each in candidates if each.contains(pattern))

    def contained(self, pattern: Pattern) -> list[Pattern]:
        """The patterns that this one contains."""
        required = required_labels(pattern)
        if not required:
            return _by_key(each for each in self._all if pattern.contains(each))
        lists = [self._by_label.get(label, {}) for label in required]
        return _by_key(
            each
            for each, mentioned in min(lists, key=len).items()
            if required <= mentioned and pattern.contains(each)
        )

    def _filed(self, mentioned: frozenset[Label]) -> Iterator[Iterable[Pattern]]:
        """Patterns by each set of required labels that is a subset of those mentioned."""
        if len(mentioned) <= LABEL_SUBSETS_MAX and 1 << len(mentioned) < len(self._by_required):
            ordered = sorted(mentioned)
            for size in range(len(ordered) + 1):
                for subset in combinations(ordered, size):
                    yield self._by_required.get(frozenset(subset), ())
        else:
            for required, patterns in self._by_required.items():
                if required <= mentioned:
                    yield patterns


def required_labels(pattern: Pattern) -> frozenset[Label]:
    """Labels that every document matching the pattern has.

    Examples
    --------
    >>> sorted(required_labels(Pattern.of_path("/a/*[@n = 3][not(b)]/c | /a/c[@n]")))
    ['a', 'c', 'n']
    """
    query = pattern.query
    if isinstance(query, KeywordQuery):
        # Every pattern with keywords mentions and requires this label; a path does neither.
        words = _words(query) if query.mode is Mode.ALL else frozenset()
        return words | {"\n"}
    return frozenset.intersection(
        *(frozenset(_path_labels(path, required=True)) for path in query.branches)
    )


def mentioned_labels(pattern: Pattern) -> frozenset[Label]:
    """All labels of a pattern."""
    query = pattern.query
    if isinstance(query, KeywordQuery):
        return _words(query) | {"\n"}
    return frozenset(
        label for path in query.branches for label in _path_labels(path, required=False)
    )


def _words(query: KeywordQuery) -> frozenset[Label]:
    return frozenset(f"\n{word}" for keyword in query.keywords for word in keyword.split())


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


def _by_key(patterns: Iterable[Pattern]) -> list[Pattern]:
    return sorted(patterns, key=lambda pattern: pattern.key)
