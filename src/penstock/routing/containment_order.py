"""The containment order of patterns: which contain which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.routing.containment_search import containers_of_all
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
