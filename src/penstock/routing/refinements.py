"""Refinements: covered patterns that are announced besides the roots, as far as they fit."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from penstock.routing.patterns import Pattern

_Rank: TypeAlias = tuple[int, int, str]
"""The place of a candidate: number of members, negated; pattern nodes; key, which is unique."""

_SORTED_SHARE: Final = 16
"""Changes of at least one in this number of the candidates are sorted together."""


class Refinements:
    """Candidates in a fixed order, of which the longest prefix that fits is kept.

    Patterns with the most members come first, then the smallest. The prefix moves with each change,
    so that a change costs no more than it changes.

    Examples
    --------
    >>> refinements = Refinements()
    >>> refinements.put({Pattern.of_path("/a/b"): 1, Pattern.of_path("/a/b/c"): 2})
    >>> refinements.put({Pattern.of_path("/a/d"): 1})
    >>> refinements.fit(5)
    >>> [str(pattern) for pattern in refinements], refinements.size
    (['/a/b/c', '/a/b'], 5)
    """

    def __init__(self) -> None:
        self._ranks: dict[Pattern, _Rank] = {}
        self._ranked: list[_Rank] = []
        self._by_key: dict[str, Pattern] = {}
        self._kept: dict[Pattern, None] = {}
        self.size = 0
        """Pattern nodes of those that are kept."""
        self.changed: set[Pattern] = set()
        """Patterns that were added to those kept, or removed from them; the owner clears it."""

    def __contains__(self, pattern: object) -> bool:
        """Whether a pattern is kept."""
        return pattern in self._kept

    def __iter__(self) -> Iterator[Pattern]:
        """The patterns that are kept, in their order."""
        return (self._by_key[key] for _, _, key in self._ranked[: len(self._kept)])

    def put(self, candidates: Mapping[Pattern, int]) -> None:
        """Add candidates with their numbers of members, or remove those that have none.

        Call :meth:`fit` after the last change.
        """
        changes = {
            pattern: rank
            for pattern, members in candidates.items()
            if (rank := _rank(pattern, members)) != self._ranks.get(pattern)
        }
        if _SORTED_SHARE * len(changes) > len(self._ranked):
            self._put_together(changes)
        else:
            for pattern, rank in changes.items():
                self._put_one(pattern, rank)

    def fit(self, room: int) -> None:
        """Keep the longest prefix of at most ``room`` pattern nodes."""
        while self.size > room:
            self._drop(self._by_key[self._ranked[len(self._kept) - 1][2]])
        while len(self._kept) < len(self._ranked):
            _, size, key = self._ranked[len(self._kept)]
            if self.size + size > room:
                break
            self._keep(self._by_key[key])

    def _put_one(self, pattern: Pattern, rank: _Rank | None) -> None:
        known = self._ranks.pop(pattern, None)
        if known is not None:
            del self._ranked[bisect_left(self._ranked, known)]
            del self._by_key[pattern.key]
            if pattern in self._kept:
                self._drop(pattern)
        if rank is not None:
            is_within = bool(self._kept) and rank < self._ranked[len(self._kept) - 1]
            insort(self._ranked, rank)
            self._ranks[pattern] = rank
            self._by_key[pattern.key] = pattern
            if is_within:
                self._keep(pattern)

    def _put_together(self, changes: Mapping[Pattern, _Rank | None]) -> None:
        """Sorts the candidates anew; none is kept until they are fitted again."""
        for pattern in list(self._kept):
            self._drop(pattern)
        for pattern, rank in changes.items():
            if rank is None:
                self._ranks.pop(pattern, None)
            else:
                self._ranks[pattern] = rank
        self._ranked = sorted(self._ranks.values())
        self._by_key = {pattern.key: pattern for pattern in self._ranks}

    def _keep(self, pattern: Pattern) -> None:
        self._kept[pattern] = None
        self.size += pattern.size
        self.changed.add(pattern)

    def _drop(self, pattern: Pattern) -> None:
        del self._kept[pattern]
        self.size -= pattern.size
        self.changed.add(pattern)


def _rank(pattern: Pattern, members: int) -> _Rank | None:
    return (-members, pattern.size, pattern.key) if members else None
