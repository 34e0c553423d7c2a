"""The system agent: seeds for joining peers, and who may move. It has no I/O."""

from __future__ import annotations

import random
from collections import OrderedDict
from dataclasses import dataclass

from penstock.errors import error
from penstock.overlay.limits import (
    AGENT_PEERS_MAX,
    AGENT_REQUESTS_MAX,
    AGENT_ROUND_SECONDS_MAX,
    AGENT_SOURCES_MAX,
    SEEDS_MAX,
)
from penstock.overlay.peer_messages import (
    AnyPeerMessage,
    EligibilityAnswer,
    EligibilityPending,
    EligibilityRequest,
    Seeds,
    SeedsRequest,
    SourceAnnouncement,
)
from penstock.overlay.peer_outputs import Send


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Settings of a system agent."""

    extra_seeds: int = 0
    """Peers in a seed set besides the source: random ones among those that joined lately."""

    move_wait_seconds: float = 0.0
    """Time that passes between two grants to the same peer."""

    top: int | None = None
    """If set, requests wait for the next round, and only this number is granted, those with the
    greatest overhead: the paper's *top-c*."""

    round_seconds: float = 1.0
    """Time from the first request of a round to its grants."""

    delta_threshold: float = 0.0
    """Overhead below which requests are denied."""

    source_seconds: float = 60.0
    """Time after its last announcement for which a source is known."""

    def __post_init__(self) -> None:
        if not 0 <= self.extra_seeds < SEEDS_MAX:
            raise error("overlay.option", f"a seed set has at most {SEEDS_MAX} peers")
        positive = (self.round_seconds, self.source_seconds)
        if min(self.move_wait_seconds, self.delta_threshold) < 0 or min(positive) <= 0:
            raise error("overlay.option", "times and thresholds are not negative")
        if self.round_seconds > AGENT_ROUND_SECONDS_MAX:
            raise error("overlay.option", f"a round has at most {AGENT_ROUND_SECONDS_MAX} seconds")
        if self.top is not None and self.top < 1:
            raise error("overlay.option", "at least one request is granted in a round")


class SystemAgent:
    """Answers :class:`SeedsRequest` and :class:`EligibilityRequest`, and knows the sources.

    It makes joining and moving cheaper and fairer, and nothing depends on it: peers that receive no
    answer use the seeds that they know and their own time-outs.
    """

    def __init__(self, options: AgentOptions, *, random: random.Random) -> None:
        self._options = options
        self._random = random
        self._sources: OrderedDict[str, float] = OrderedDict()
        """When each source was last announced, the earliest first."""
        self._recent: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._granted: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._pending: dict[tuple[str, str], EligibilityRequest] = {}
        self.next_timer: float | None = None
        """When :meth:`tick` is due."""

    def receive(self, sender: str, message: AnyPeerMessage, now: float) -> list[Send]:
        """Process a message; others than requests are ignored."""
        match message:
            case SeedsRequest():
                return [Send(sender, Seeds(message.source, self._seeds(message.source, sender)))]
            case EligibilityRequest():
                return self._asked(sender, message, now)
            case SourceAnnouncement() if sender == message.source:
                self._announced(sender, now)
                return []
            case _:
                return []

    def tick(self, now: float) -> list[Send]:
        """Ends the round, if it is due: grants those with the greatest overhead."""
        if self.next_timer is None or now < self.next_timer:
            return []
        self.next_timer = None
        ranked = sorted(self._pending.items(), key=lambda item: (-item[1].overhead, item[0]))
        self._pending.clear()
        top = self._options.top
        return [
            self._answer(peer, request, now, is_granted=top is None or rank < top)
            for rank, ((_, peer), request) in enumerate(ranked)
        ]

    def sources(self, now: float) -> tuple[str, ...]:
        """The sources that announced themselves lately."""
        oldest = now - self._options.source_seconds
        return tuple(name for name, at in self._sources.items() if at >= oldest)

    def _announced(self, source: str, now: float) -> None:
        self._sources[source] = now
        self._sources.move_to_end(source)
        if len(self._sources) > AGENT_SOURCES_MAX:
            self._sources.popitem(last=False)

    def _seeds(self, source: str, joiner: str) -> tuple[str, ...]:
        known = [peer for tree, peer in self._recent if tree == source and peer != joiner]
        chosen = self._random.sample(known, min(self._options.extra_seeds, len(known)))
        if self._options.extra_seeds:
            self._recent[source, joiner] = None
            if len(self._recent) > AGENT_PEERS_MAX:
                self._recent.popitem(last=False)
        return (source, *chosen)

    def _asked(self, sender: str, request: EligibilityRequest, now: float) -> list[Send]:
        key = (request.source, sender)
        last = self._granted.get(key)
        too_early = last is not None and now - last < self._options.move_wait_seconds
        is_full = len(self._pending) >= AGENT_REQUESTS_MAX
        if too_early or request.overhead < self._options.delta_threshold or is_full:
            return [self._answer(sender, request, now, is_granted=False)]
        if self._options.top is None:
            return [self._answer(sender, request, now, is_granted=True)]
        self._pending[key] = request
        if self.next_timer is None:
            self.next_timer = now + self._options.round_seconds
        # Otherwise the peer would take the agent for dead before a long round ends.
        seconds = max(0.0, self.next_timer - now)
        return [Send(sender, EligibilityPending(request.source, request.request, seconds))]

    def _answer(
        self, peer: str, request: EligibilityRequest, now: float, *, is_granted: bool
    ) -> Send:
        if is_granted:
            self._granted[request.source, peer] = now
            self._granted.move_to_end((request.source, peer))
            if len(self._granted) > AGENT_PEERS_MAX:
                self._granted.popitem(last=False)
        return Send(peer, EligibilityAnswer(request.source, request.request, is_granted))
