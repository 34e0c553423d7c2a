"""A bit-parallel NFA for paths that must be satisfied below a node.

A state is a bit set with one bit per path and number of steps taken; under ``//`` a bit stays set
while elements are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from penstock.language.limits import MAX_CACHED_GOALS
from penstock.language.relations.reference.name_tests import includes
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Step


class Goals:
    """Paths of which one must be satisfied."""

    __slots__ = ("bare", "done", "last_steps", "plain", "start", "steps")

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.steps: list[Step | None] = []
        """The next step of each bit; ``None`` if all are taken."""
        self.last_steps = [path.steps[-1] for path in paths if path.steps]
        self.start = 0
        self.done = 0
        self.bare = 0
        """The bits whose remaining steps have no predicates."""
        for path in paths:
            first = len(self.steps)
            self.start |= 1 << first
            self.steps += [*path.steps, None]
            self.done |= 1 << (len(self.steps) - 1)
            for bit in reversed(range(first, len(self.steps))):
                step = self.steps[bit]
                if step is not None and step.predicates:
                    break
                self.bare |= 1 << bit
        self.plain = self.bare == (1 << len(self.steps)) - 1
        """Whether no step has predicates."""

    def advance(
        self, state: int, kind: Kind, place: NameTest, holds: Callable[[Step], bool] | None
    ) -> int:
        """The state after one more node; ``holds`` decides the predicates of a step.

        Without ``holds``, only steps without predicates are taken.
        """
        after = 0
        while state:
            low = state & -state
            state ^= low
            step = self.steps[low.bit_length() - 1]
            if step is None:
                continue
            if step.axis is Axis.DESCENDANT and kind is Kind.ELEMENT:
                after |= low
            if (
                step.kind is kind
                and includes(step.test, place)
                and (not step.predicates or (holds is not None and holds(step)))
            ):
                after |= low << 1
        return after


@lru_cache(maxsize=MAX_CACHED_GOALS)
def goals_of(paths: tuple[Path, ...]) -> Goals:
    """Compiles paths to goals."""
    return Goals(paths)
