"""The simulated network: latency, bandwidth, and faults as plain options."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.errors import error
from penstock.overlay.interest import InterestModel
from penstock.overlay.peer_messages import AnyPeerMessage, Forward, Replay

_HEADER_BYTES = 64
"""Bytes that a message counts for besides its documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """How messages travel. Shares are probabilities of a message, independent of others."""

    latency_seconds: float = 0.02
    jitter_seconds: float = 0.0
    """Up to this time is added at random; messages can overtake each other."""

    bytes_per_second: float | None = None
    """Bandwidth of each peer's uplink: its messages leave one after the other."""

    loss: float = 0.0
    duplication: float = 0.0
    delay: float = 0.0
    """Share of messages that are delayed by up to ``delay_seconds``."""

    delay_seconds: float = 10.0

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in (self.loss, self.duplication, self.delay)):
            raise error("overlay.option", "loss, duplication and delay are shares")
        if self.latency_seconds < 0 or self.jitter_seconds < 0 or self.delay_seconds < 0:
            raise error("overlay.option", "times are not negative")
        if self.bytes_per_second is not None and self.bytes_per_second <= 0:
            raise error("overlay.option", "bandwidth is positive")


class SimulatedNetwork:
    """Decides when a message arrives, if at all."""

    def __init__(
        self, options: NetworkOptions, model: InterestModel, random: random.Random
    ) -> None:
        self._model = model
        self._random = random
        self._regions: dict[str, int] = {}
        self._uplink_free_at: dict[str, float] = {}
        self.options = options
        """Can be exchanged at any time."""
        self.lost = 0

    @property
    def options(self) -> NetworkOptions:
        """The present options."""
        return self._options

    @options.setter
    def options(self, options: NetworkOptions) -> None:
        self._options = options
        self._is_plain = (
            options.loss == options.duplication == options.delay == options.jitter_seconds == 0
            and options.bytes_per_second is None
        )

    def partition(self, *groups: Iterable[str]) -> None:
        """Messages between different groups are lost; peers in no group are one more group."""
        self._regions = {name: number for number, group in enumerate(groups, 1) for name in group}

    def heal(self) -> None:
        """Ends the partition."""
        self._regions = {}

    def is_cut(self, one: str, other: str) -> bool:
        """Whether the partition separates two peers."""
        return self._regions.get(one) != self._regions.get(other)

    def arrivals(
        self, sender: str, receiver: str, message: AnyPeerMessage, now: float
    ) -> Iterator[float]:
        """When the copies of a message arrive."""
        options = self._options
        if self._regions and self.is_cut(sender, receiver):
            self.lost += 1
            return
        if self._is_plain:
            yield now + options.latency_seconds
            return
        sent_at = now
        if options.bytes_per_second is not None:
            start = max(now, self._uplink_free_at.get(sender, 0.0))
            sent_at = start + self._bytes(message) / options.bytes_per_second
            self._uplink_free_at[sender] = sent_at
        random_ = self._random.random
        copies = 2 if options.duplication and random_() < options.duplication else 1
        for _ in range(copies):
            if options.loss and random_() < options.loss:
                self.lost += 1
                continue
            arrival = sent_at + options.latency_seconds
            if options.jitter_seconds:
                arrival += random_() * options.jitter_seconds
            if options.delay and random_() < options.delay:
                arrival += random_() * options.delay_seconds
            yield arrival

    def _bytes(self, message: AnyPeerMessage) -> int:
        match message:
            case Forward():
                return _HEADER_BYTES + self._model.size(message.document)
            case Replay():
                sizes = (self._model.size(each.document) for each in message.documents)
                return _HEADER_BYTES + sum(sizes)
            case _:
                return _HEADER_BYTES
