"""The containment order of patterns: which contain which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from penstock.routing.containment_search import FixedSearch, containers_of_all
from penstock.routing.limits import CONTAINER_SETS_MAX
from penstock.routing.patterns import Pattern


@dataclass(frozen=True, slots=True)
class ContainmentPair:
    """A pattern that is proved to contain another."""

    container: Pattern
    contained: Pattern
    is_direct: bool
    """Whether no third pattern lies strictly between the two: it would be contained in the one and
    contain the other, and not be equivalent to either."""


def containment_order(patterns: Iterable[Pattern]) -> list[ContainmentPair]:
    """All proved pairs of distinct patterns, in the order of their keys.

    Equivalent patterns contain each other. A pattern that no document matches is contained in every
    other, and only listed as far as its labels show it.

    Examples
    --------
    >>> queries = ["//b", "/a/b", "/a/b[@n = 3]", "/c"]
    >>> for pair in containment_order(map(Pattern.of_path, queries)):
    ...     print(pair.container, pair.contained, pair.is_direct)
    //b /a/b True
    //b /a/b[@n = 3] False
    /a/b /a/b[@n = 3] True
    """
    distinct = sorted(set(patterns), key=lambda pattern: pattern.key)
    containers = containers_of_all(distinct)
    above = list(map(set, containers))
    strictly = [
        {each for each in containers[number] if number not in above[each]}
        for number in range(len(distinct))
    ]
    pairs = [
        ContainmentPair(
            distinct[container],
            distinct[contained],
            not any(container in strictly[between] for between in strictly[contained]),
        )
        for contained in range(len(distinct))
        for container in containers[contained]
    ]
    return sorted(pairs, key=lambda pair: (pair.container.key, pair.contained.key))


class FixedOrder:
    """The containment order of a large set of patterns, one contained pattern at a time.

    Parameters
    ----------
    keys
        The keys of distinct patterns.

    Examples
    --------
    >>> keys = [Pattern.of_path(query).key for query in ("//b", "/a/b", "/a/b[@n = 3]")]
    >>> FixedOrder(keys).above(2) == {0: False, 1: True}
    True
    """

    def __init__(self, keys: Sequence[str]) -> None:
        search = FixedSearch(keys)
        self._containers = lru_cache(CONTAINER_SETS_MAX)(search.containers)
        self._strict_containers = lru_cache(CONTAINER_SETS_MAX)(self._find_strict_containers)

    def above(self, number: int) -> dict[int, bool]:
        """The positions of the patterns that contain one, and whether that is direct."""
        indirect = frozenset[int]().union(
            *(self._strict_containers(between) for between in self._strict_containers(number))
        )
        return {each: each not in indirect for each in sorted(self._containers(number))}

    def _find_strict_containers(self, number: int) -> frozenset[int]:
        """The containers that are not equivalent."""
        found = self._containers(number)
        return frozenset(each for each in found if number not in self._containers(each))
