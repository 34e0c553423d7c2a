"""Which patterns contain which, remembered as bitmaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.overlay.limits import COMPARED_PATTERNS_MAX
from penstock.routing import Pattern


class PatternContainment:
    """Every pattern is compared with all others once; sets of patterns are bitmaps.

    Examples
    --------
    >>> containment = PatternContainment()
    >>> news, sport = map(Pattern.of_path, ("/news", "/news/sport"))
    >>> bits = containment.bits_of([news, sport])
    >>> [str(each) for each in containment.maximal(bits)]
    ['/news']
    """

    def __init__(self, patterns_max: int = COMPARED_PATTERNS_MAX) -> None:
        self._patterns_max = patterns_max
        self._patterns: list[Pattern] = []
        self._numbers: dict[Pattern, int] = {}
        self._containers: list[int] = []
        """By number: the patterns that contain it."""

        self._preferred: list[int] = []
        """By number: those of them that replace it. Of equivalent ones, the least key is kept."""

    def bits_of(self, patterns: Iterable[Pattern]) -> int | None:
        """The bits of patterns, new ones included; ``None`` if there are too many."""
        bits = 0
        for pattern in patterns:
            number = self._numbers.get(pattern)
            if number is None:
                if len(self._patterns) >= self._patterns_max:
                    return None
                number = self._add(pattern)
            bits |= 1 << number
        return bits

    def _add(self, pattern: Pattern) -> int:
        number = self._numbers[pattern] = len(self._patterns)
        bit = 1 << number
        containers = preferred = 0
        for other_number, other in enumerate(self._patterns):
            is_contained = other.contains(pattern)
            is_container = pattern.contains(other)
            comes_first = pattern.key < other.key
            if is_contained:
                containers |= 1 << other_number
                if not (is_container and comes_first):
                    preferred |= 1 << other_number
            if is_container:
                self._containers[other_number] |= bit
                if comes_first or not is_contained:
                    self._preferred[other_number] |= bit
        self._patterns.append(pattern)
        self._containers.append(containers)
        self._preferred.append(preferred)
        return number

    def maximal(self, bits: int) -> list[Pattern]:
        """The patterns of a set that no other of it contains; one of equivalent ones.

        Proofs of containment do not always follow from each other. A pattern is left out only if
        one that stays contains it.
        """
        kept = sum(1 << each for each in _numbers(bits) if not self._preferred[each] & bits)
        for number in _numbers(bits & ~kept):
            if not self._containers[number] & kept:
                kept |= 1 << number
        return [self._patterns[number] for number in _numbers(kept)]

    def covers(self, bits: int, others: int) -> bool:
        """Whether each of the others is contained in one of the set."""
        return all(self._containers[number] & bits for number in _numbers(others & ~bits))


def _numbers(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
