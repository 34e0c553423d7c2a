"""Settings of a peer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.errors import error
from penstock.overlay.limits import FAN_OUT_MAX, PeerLimits


class Placement(StrEnum):
    """What a moving peer minimises."""

    PATH_COST = "path cost"
    """Documents that the new parent and its ancestors do not receive yet, less those that the old
    ones no longer receive."""

    OVERHEAD = "overhead"
    """Documents that the new parent itself does not subscribe to: the paper's policy."""


class ChildChoice(StrEnum):
    """Which child a peer with too much overhead asks to move."""

    MARGINAL = "marginal contribution"
    """The one without which the peer would receive the fewest extraneous documents."""

    LEAST_OVERLAP = "least overlap"
    """The one whose documents the peer itself subscribes to the least: the paper's policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerOptions:
    """Settings of a peer; times are in seconds.

    >>> PeerOptions(fan_out=4).fan_out
    4
    """

    fan_out: int = 6
    """Children in all trees together."""

    heartbeat_seconds: float = 5.0
    """Interval of heartbeats to the parent and to children."""

    silence_seconds: float = 16.0
    """Silence after which a parent or child counts as dead."""

    answer_seconds: float = 2.0
    """How long an answer is awaited before a request is repeated or given up."""

    attempt_tries: int = 4
    """How often an attach request is sent before the attempt is abandoned."""

    back_off_first_seconds: float = 1.0
    back_off_seconds_max: float = 30.0
    """Bounds of the random delay after a failed join."""

    gap_seconds: float = 120.0
    """How long documents are held back because earlier ones are missing. After this time without
    progress, the gap is reported and they are delivered."""

    leave_seconds: float = 30.0
    """How long a leaving peer waits for its children to find other parents."""

    reorganise_seconds: float | None = None
    """Interval at which a child is asked to move; ``None`` switches reorganisation off."""

    examinations: int = 8
    """How often a peer examines its overhead in that interval. A new child is asked at the first
    examination; if it stays, after 1, 2, 4 ... further ones, and at least once an interval."""

    moves_per_round: int = 3
    """Children that are asked to move at once."""

    move_wait_seconds: float = 0.0
    """Time that passes between two searches of a peer."""

    overhead_threshold: float = 0.05
    """Share of extraneous documents above which a child is asked to move."""

    delta_threshold: float = 1.0
    """Documents of the window that a move must save."""

    placement: Placement = Placement.PATH_COST
    child_choice: ChildChoice = ChildChoice.MARGINAL
    parallel_probes: int = 8
    """Probes of a search that are on their way at once."""

    limits: PeerLimits = field(default_factory=PeerLimits)

    def __post_init__(self) -> None:
        if type(self.fan_out) is not int or not 0 <= self.fan_out <= FAN_OUT_MAX:
            raise error("overlay.option", f"the fan-out is 0 to {FAN_OUT_MAX}: {self.fan_out!r}")
        positive = (
            self.heartbeat_seconds,
            self.silence_seconds,
            self.answer_seconds,
            self.back_off_first_seconds,
            self.gap_seconds,
            self.leave_seconds,
            self.reorganise_seconds if self.reorganise_seconds is not None else 1.0,
        )
        if not all(0 < seconds < math.inf for seconds in positive) or self.move_wait_seconds < 0:
            raise error("overlay.option", "times are positive and finite")
        if self.back_off_seconds_max < self.back_off_first_seconds:
            raise error("overlay.option", "the greatest back-off is less than the first")
        if self.silence_seconds <= self.heartbeat_seconds:
            raise error("overlay.option", "silence is longer than the interval of heartbeats")
        counts = (
            self.attempt_tries,
            self.parallel_probes,
            self.moves_per_round,
            self.examinations,
        )
        if min(counts) < 1:
            raise error("overlay.option", "requests are sent at least once")
        if not 0 <= self.overhead_threshold <= 1 or self.delta_threshold < 0:
            raise error("overlay.option", "a threshold is a share, or a number of documents")

    @property
    def attempt_seconds(self) -> float:
        """How long an attach attempt lasts at most."""
        return self.answer_seconds * (self.attempt_tries + 1)

    @property
    def examine_seconds(self) -> float:
        """Interval at which a peer examines its overhead, if there is reorganisation."""
        return (self.reorganise_seconds or math.inf) / self.examinations

    def ask_again_seconds(self, asked: int) -> float:
        """How long a child is not asked again that was asked ``asked`` times before."""
        return self.examine_seconds * min(1 << min(asked, 32), self.examinations)
