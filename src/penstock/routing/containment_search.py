"""Finds the patterns of a set that contain a pattern, or are contained in it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations
from typing import Protocol

from penstock.language import Query, parse_normal
from penstock.matching import SubscriptionIndex
from penstock.matching.header_tests import HeaderFields
from penstock.routing.limits import (
    LABEL_SUBSETS_MAX,
    REQUIRED_LABELS_MAX,
    SEARCHED_TOGETHER_MIN,
)
from penstock.routing.pattern_labels import Label, mentioned_labels, required_labels
from penstock.routing.patterns import UNIVERSAL, Pattern


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

    def contains_more(self, pattern: Pattern, size: int) -> bool:
        """Whether the patterns that this one contains have more than ``size`` pattern nodes."""


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

    def contains_more(self, pattern: Pattern, size: int) -> bool:
        """Whether the patterns that this one contains have more than ``size`` pattern nodes."""
        return sum(each.size for each in self.contained(pattern)) > size


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
        self._by_required.setdefault(pattern.required_labels, {})[pattern] = None
        mentioned = pattern.mentioned_labels
        for label in mentioned:
            self._by_label.setdefault(label, {})[pattern] = mentioned

    def discard(self, pattern: Pattern) -> None:
        """Remove a pattern, if present."""
        if self._all.pop(pattern, self) is self:
            return
        required = pattern.required_labels
        self._by_required[required].pop(pattern)
        if not self._by_required[required]:
            del self._by_required[required]
        for label in pattern.mentioned_labels:
            self._by_label[label].pop(pattern)
            if not self._by_label[label]:
                del self._by_label[label]

    def containers(self, pattern: Pattern) -> list[Pattern]:
        """The patterns that contain this one."""
        candidates = chain.from_iterable(self._filed(pattern.mentioned_labels))
        return _by_key(each for each in candidates if each.contains(pattern))

    def contained(self, pattern: Pattern) -> list[Pattern]:
        """The patterns that this one contains."""
        return _by_key(self._contained(pattern))

    def contains_more(self, pattern: Pattern, size: int) -> bool:
        """Whether the patterns that this one contains have more than ``size`` pattern nodes."""
        found = 0
        for each in self._contained(pattern):
            found += each.size
            if found > size:
                return True
        return False

    def _contained(self, pattern: Pattern) -> Iterator[Pattern]:
        required = pattern.required_labels
        if not required:
            return (each for each in self._all if pattern.contains(each))
        lists = [self._by_label.get(label, {}) for label in required]
        return (
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


def containers_of_all(patterns: Sequence[Pattern]) -> list[list[int]]:
    """For each of some distinct patterns, the positions of the others that contain it, ascending.

    Many paths are searched together by the index of subscriptions, the others by their labels. The
    result is the same, but for patterns that no document matches: see :class:`LabelIndex`.

    Examples
    --------
    >>> containers_of_all([Pattern.of_path(query) for query in ("//b", "/a/b", "/a/b/c")])
    [[], [0], [0, 1]]
    """
    is_path = [isinstance(pattern.query, Query) for pattern in patterns]
    found = _searched_together(patterns, [number for number, path in enumerate(is_path) if path])
    left = [number for number in range(len(patterns)) if number not in found]
    if left:
        paths_are_left = any(is_path[number] for number in left)
        index = LabelIndex()
        positions = {pattern: number for number, pattern in enumerate(patterns)}
        for number, pattern in enumerate(patterns):
            # Of the paths, only those without required labels can contain a keyword query.
            if paths_are_left or number not in found or not pattern.required_labels:
                index.add(pattern)
        for number in left:
            above = [positions[each] for each in index.containers(patterns[number])]
            found[number] = sorted(each for each in above if each != number)
    return [found[number] for number in range(len(patterns))]


def _searched_together(patterns: Sequence[Pattern], paths: list[int]) -> dict[int, list[int]]:
    """The containers of many paths among each other, as far as the index finds them at once."""
    if len(paths) < SEARCHED_TOGETHER_MIN:
        return {}
    index = SubscriptionIndex()
    groups: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    for number in paths:
        groups[patterns[number].namespaces].append(number)
    for namespaces, numbers in groups.items():
        refused = index.add_many(
            list(map(str, numbers)),
            [patterns[number].text for number in numbers],
            namespaces=dict(namespaces),
            where=[dict(patterns[number].where) for number in numbers],
        )
        assert not refused, "patterns are storable queries"
    return {
        int(number): sorted(map(int, containers))
        for number, containers in index.all_containers().items()
    }


class FixedSearch:
    """Finds the containers of patterns in a large set that does not change.

    The result is that of :func:`containers_of_all`, one pattern at a time and without a parsed
    pattern for each member of the set.

    Parameters
    ----------
    keys
        The keys of distinct patterns.

    Examples
    --------
    >>> search = FixedSearch([Pattern.of_path(query).key for query in ("//b", "/a/b", "/a/b/c")])
    >>> [sorted(search.containers(number)) for number in range(3)]
    [[], [0], [0, 1]]
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._paths = SubscriptionIndex()
        self._keywords = LabelIndex()
        self._positions: dict[Pattern, int] = {}
        """Of the keyword queries."""
        groups: dict[tuple[tuple[str, str], ...], list[tuple[int, str, HeaderFields]]]
        groups = defaultdict(list)
        for number, key in enumerate(keys):
            kind, text, namespaces, where = json.loads(key)
            if kind == "xpath":
                shared = tuple((prefix, uri) for prefix, uri in namespaces)
                groups[shared].append((number, text, dict(where)))
            else:
                pattern = Pattern.from_key(key)
                self._keywords.add(pattern)
                self._positions[pattern] = number
        for shared, members in groups.items():
            refused = self._paths.add_many(
                [str(number) for number, _, _ in members],
                [text for _, text, _ in members],
                namespaces=dict(shared),
                where=[where for _, _, where in members],
            )
            assert not refused, "patterns are storable queries"

    def containers(self, number: int) -> frozenset[int]:
        """The positions of the other patterns that contain one."""
        kind, text, namespaces, where = json.loads(self._keys[number])
        fields = dict(where)
        if kind == "xpath":
            # The text, because a parsed query would be brought into normal form again.
            paths = self._paths.containers(text, namespaces=dict(namespaces), where=fields)
            others = [int(id_) for id_ in paths if int(id_) != number]
            if not others:
                return frozenset()
            mentioned = mentioned_labels(parse_normal(text, namespaces=dict(namespaces)))
            keywords = frozenset[int]()
        else:
            pattern = Pattern.from_key(self._keys[number])
            keywords = frozenset(
                self._positions[each] for each in self._keywords.containers(pattern)
            )
            # Of the paths, those that every document matches contain a keyword query.
            assert isinstance(UNIVERSAL.query, Query)
            others = list(map(int, self._paths.containers(UNIVERSAL.query, where=fields)))
            mentioned = pattern.mentioned_labels
        # All contain a pattern that no document matches; listed is what the labels show.
        shown = {each for each in others if _required_labels(self._keys[each]) <= mentioned}
        return (keywords | shown) - {number}


@lru_cache(REQUIRED_LABELS_MAX)
def _required_labels(key: str) -> frozenset[Label]:
    """The required labels of the path with this key."""
    _, text, namespaces, _ = json.loads(key)
    return required_labels(parse_normal(text, namespaces=dict(namespaces)))


def _by_key(patterns: Iterable[Pattern]) -> list[Pattern]:
    return sorted(patterns, key=lambda pattern: pattern.key)
