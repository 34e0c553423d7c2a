"""The search for a first parent, or for one instead of a parent that leaves."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.overlay.limits import REJOIN_ANCESTORS_MAX, SEEDS_MAX
from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.attach_attempt import Candidate, Displacement
from penstock.overlay.membership.attach_attempts import AttachAttempts
from penstock.overlay.membership.document_delivery import DocumentDelivery
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.membership.transitions import (
    SEEKS_PLACE,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AddResult,
    Seeds,
    SeedsRequest,
)

_S = MembershipState
_I = MembershipInput


class JoinSearch:
    """Asks seeds for a place, and collects their answers as candidates."""

    __slots__ = (
        "_attempts",
        "_delivery",
        "_filter",
        "_position",
        "join_number",
        "rejoin_seeds",
        "seeds",
        "unanswered",
    )

    def __init__(
        self,
        position: TreePosition,
        filter_: AggregateFilter,
        delivery: DocumentDelivery,
        attempts: AttachAttempts,
        seeds: Iterable[str],
    ) -> None:
        self._position = position
        self._filter = filter_
        self._delivery = delivery
        self._attempts = attempts
        self.begin_at(seeds)
        self.join_number = 0
        """Answers to other requests than the last are ignored."""
        self.unanswered: set[str] = set()
        self.rejoin_seeds: tuple[str, ...] = ()
        """Former ancestors, the grandparent first. They are asked until there is a parent again, as
        long as they answer: those that attach or move themselves refuse for a while."""

    def begin_at(self, seeds: Iterable[str]) -> None:
        """The peers to join at; the source if there are none."""
        self.seeds = tuple(dict.fromkeys(seeds)) or (self._position.source,)

    def forget_ancestors(self) -> None:
        """There is a parent."""
        self.rejoin_seeds = ()

    def forget(self, path: tuple[str, ...]) -> None:
        """The parent is lost: answers are ignored, and its ancestors are asked next."""
        self.join_number += 1
        self.rejoin_seeds = path[-2::-1][:REJOIN_ANCESTORS_MAX]

    def start(self, now: float) -> None:
        """Look for a parent."""
        position = self._position
        if position.agent is not None:
            position.go(_I.ASK_AGENT)
            position.send(position.agent, SeedsRequest(position.source))
            position.phase_at = now + position.host.options.answer_seconds
        else:
            position.go(_I.ASK_SEEDS)
            self.ask(self._all_seeds(()), now)

    def _all_seeds(self, given: Iterable[str]) -> tuple[str, ...]:
        wanted = (*self.rejoin_seeds, *given, *self.seeds, self._position.source)
        known = dict.fromkeys(peer for peer in wanted if peer != self._position.name)
        return tuple(known)[:SEEDS_MAX]

    def take_seeds(self, peers: tuple[str, ...], now: float) -> None:
        """The agent has answered, or its time is over."""
        self._position.go(_I.SEEDS)
        self.ask(self._all_seeds(peers), now)

    def ask(self, seeds: tuple[str, ...], now: float) -> None:
        """Ask peers for a place."""
        position = self._position
        self.join_number += 1
        self._attempts.candidates = []
        self.unanswered = set(seeds)
        # An orphan needs a parent soon: its former ancestors answer without asking the source.
        is_compared = len(seeds) > 1 and not self.rejoin_seeds
        bitmap = self._delivery.overlap.bitmap()
        for seed in seeds:
            position.send(
                seed,
                Add(
                    position.source,
                    joiner=position.name,
                    join=self.join_number,
                    seed=seed,
                    interest=self._filter.interest,
                    bitmap=bitmap,
                    is_compared=is_compared,
                    route=(),
                    costs=(),
                    excluded=(),
                    hops=0,
                ),
            )
        position.phase_at = now + self._attempts.patience()

    def on_seeds(self, sender: str, message: Seeds, now: float) -> None:
        """The agent has answered."""
        if self._position.state is _S.LOCATING and sender == self._position.agent:
            self.take_seeds(message.peers, now)

    def on_add_result(self, sender: str, message: AddResult, now: float) -> None:
        """A peer has a place."""
        position, overlap = self._position, self._delivery.overlap
        if message.join != self.join_number:
            return
        if position.state not in SEEKS_PLACE and position.state is not _S.WAITING:
            return
        tie = position.host.random.random()
        displaced = None if message.displaced is None else Displacement(message.displaced)
        self._attempts.candidates.append(
            Candidate(message.cost, message.depth, tie, sender, displaced)
        )
        if message.bitmap is not None and not self._delivery.stream.is_started:
            overlap.statistics.start(message.bitmap.epoch, message.bitmap.last)
            overlap.extend_back(message.bitmap)
        if position.state is _S.WAITING:
            # A late answer, better than asking again.
            self.choose(now)
        else:
            self.answered(message.seed, now)

    def on_add_refused(self, sender: str, message: AddRefused, now: float) -> None:
        """There is no place at or below a seed."""
        if self._position.state in SEEKS_PLACE and message.join == self.join_number:
            self.answered(message.seed, now)

    def unreachable(self, seed: str, now: float) -> None:
        """No connection to a seed can be made."""
        self.rejoin_seeds = tuple(each for each in self.rejoin_seeds if each != seed)
        self.answered(seed, now)

    def answered(self, seed: str, now: float) -> None:
        """A seed has answered, or cannot."""
        self.unanswered.discard(seed)
        if not self.unanswered:
            self.choose(now)

    def choose(self, now: float) -> None:
        """All seeds have answered, or their time is over."""
        position, attempts = self._position, self._attempts
        self.rejoin_seeds = tuple(each for each in self.rejoin_seeds if each not in self.unanswered)
        is_relocating = position.state is _S.RELOCATING
        best: dict[str, Candidate] = {}
        for candidate in sorted(attempts.candidates, key=lambda each: each[:4]):
            best.setdefault(candidate.peer, candidate)
        attempts.candidates = list(best.values())
        if is_relocating:
            stays = not attempts.candidates or position.is_parent(attempts.candidates[0].peer)
            if stays or self._filter.is_locked:
                attempts.candidates = []
        if attempts.candidates:
            position.go(_I.CANDIDATES)
            attempts.try_next(now)
            return
        position.go(_I.NO_CANDIDATE)
        if not is_relocating:
            position.phase_at = now + attempts.next_delay()
