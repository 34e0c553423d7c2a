"""Paths to be met somewhere below a node, followed all at once down a chain of nodes.

A state is a set of bits, one for each path and number of its steps taken; a bit stays set under
``//`` while elements go by.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from penstock.language.limits import MAX_GOALS_KEPT
from penstock.language.relations.name_tests import includes
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Step


class Goals:
    """Some paths, of which one is to be met."""

    __slots__ = ("bare", "done", "last_steps", "plain", "start", "steps")

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.steps: list[Step | None] = []
        """The step each bit waits for; ``None`` where all are taken."""
        self.last_steps = [path.steps[-1] for path in paths if path.steps]
        self.start = 0
        self.done = 0
        self.bare = 0
        """The bits from which on no step has predicates."""
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
        """Whether no step at all has predicates."""

    def advance(
        self, state: int, kind: Kind, place: NameTest, holds: Callable[[Step], bool] | None
    ) -> int:
        """The state after one more node; ``holds`` says whether a step's predicates do.

        Without it, only steps without predicates are taken.
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


@lru_cache(maxsize=MAX_GOALS_KEPT)
def goals_of(paths: tuple[Path, ...]) -> Goals:
    """The paths, compiled."""
    return Goals(paths)
