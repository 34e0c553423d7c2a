"""Sort orders in which similar patterns are near each other (sorted neighbourhood method)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Protocol

from penstock.language import KeywordQuery
from penstock.routing.limits import MERGE_CANDIDATES_MAX, NEIGHBOURS_MAX
from penstock.routing.patterns import Pattern

SortKey = tuple[tuple[str, ...], str]
"""The place of a pattern in an order: its tokens, and its key, which is unique."""

KEYWORD_ORDERS_MAX = 8
"""Keywords of a query under which it is sorted; the longest are chosen."""


class NeighbourSource(Protocol):
    """A changing set of patterns that proposes which to merge with a given one."""

    def add(self, pattern: Pattern) -> None:
        """Add a pattern that is not present."""

    def discard(self, pattern: Pattern) -> None:
        """Remove a pattern, if present."""

    def nearest(self, pattern: Pattern) -> list[Pattern]:
        """Patterns of the set, other than this one, to merge it with."""


class NeighbourOrders:
    """Patterns in several sort orders: paths by their steps from the front and from the end,
    keyword queries by each of their keywords.

    Patterns with a common prefix or suffix, or with a common keyword, are next to each other, as
    they would be in a trie or in a posting list. Random pairs would have no more in common than
    ``/*``.

    Examples
    --------
    >>> orders = NeighbourOrders()
    >>> for query in ("/news/item/title", "/news/item/price", "/shop/book", "/shop/item/price"):
    ...     orders.add(Pattern.of_path(query))
    >>> [str(near) for near in orders.nearest(Pattern.of_path("/news/item/price"))][:2]
    ['/news/item/title', '/shop/item/price']
    """

    def __init__(self) -> None:
        self._sorted: list[SortKey] = []
        self._patterns: dict[str, Pattern] = {}

    def add(self, pattern: Pattern) -> None:
        """Add a pattern that is not present."""
        self._patterns[pattern.key] = pattern
        for key in _sort_keys(pattern):
            insort(self._sorted, key)

    def discard(self, pattern: Pattern) -> None:
        """Remove a pattern, if present."""
        if self._patterns.pop(pattern.key, None) is None:
            return
        for key in _sort_keys(pattern):
            del self._sorted[bisect_left(self._sorted, key)]

    def nearest(self, pattern: Pattern) -> list[Pattern]:
        """The most similar neighbours of a pattern, in any of the orders."""
        near = {key: self._patterns[key] for key in self._near_keys(pattern)}
        ranked = sorted(near.values(), key=lambda each: (-similarity(pattern, each), each.key))
        return ranked[:MERGE_CANDIDATES_MAX]

    def _near_keys(self, pattern: Pattern) -> Iterator[str]:
        for key in _sort_keys(pattern):
            place = bisect_left(self._sorted, key)
            for tokens, name in self._sorted[
                max(0, place - NEIGHBOURS_MAX) : place + NEIGHBOURS_MAX + 1
            ]:
                if name != pattern.key and tokens[0] == key[0][0]:
                    yield name


def similarity(one: Pattern, two: Pattern) -> float:
    """A rough measure of what two patterns have in common, without computing their upper bound."""
    tokens, others = one.tokens, two.tokens
    if isinstance(one.query, KeywordQuery) or isinstance(two.query, KeywordQuery):
        shared = len(set(tokens) & set(others)) / max(len(tokens), len(others))
    else:
        front = _common_prefix(tokens, others)
        back = _common_prefix(tokens[::-1], others[::-1])
        shared = (front + back) / (len(tokens) + len(others))
    return shared - len(one.where ^ two.where) / 4


def _sort_keys(pattern: Pattern) -> list[SortKey]:
    """The places of a pattern; the first token separates the orders."""
    tokens = pattern.tokens
    if isinstance(pattern.query, KeywordQuery):
        chosen = sorted(tokens, key=lambda word: (-len(word), word))[:KEYWORD_ORDERS_MAX]
        return [(("keyword", word, *tokens), pattern.key) for word in chosen]
    return [(("front", *tokens), pattern.key), (("back", *tokens[::-1]), pattern.key)]


def _common_prefix(one: tuple[str, ...], two: tuple[str, ...]) -> int:
    for position, (first, second) in enumerate(zip(one, two, strict=False)):
        if first != second:
            return position
    return min(len(one), len(two))
