"""How a membership finds a first parent, and helps others to find one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.overlay.limits import (
    ADD_HOPS_MAX,
    DEPTH_MAX,
    EXCLUDED_PEERS_MAX,
    PRIMED_DOCUMENTS_MIN,
    SEEDS_MAX,
)
from penstock.overlay.membership.attach_attempts import AttachPart
from penstock.overlay.membership.base import Candidate, Displacement
from penstock.overlay.membership.transitions import (
    ACCEPTS_CHILDREN,
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


class JoinPart(AttachPart):
    """Asks seeds for a place, and answers or forwards such requests."""

    def join(self, now: float) -> None:
        """Look for a parent."""
        if self.agent is not None:
            self._go(_I.ASK_AGENT)
            self._send(self.agent, SeedsRequest(self.source))
            self.phase_at = now + self._options.answer_seconds
        else:
            self._go(_I.ASK_SEEDS)
            self._ask_places(self._join_seeds(()), now)

    def _join_seeds(self, given: Iterable[str]) -> tuple[str, ...]:
        wanted = (*self._rejoin_seeds, *given, *self.seeds, self.source)
        known = dict.fromkeys(peer for peer in wanted if peer != self.name)
        return tuple(known)[:SEEDS_MAX]

    def _take_seeds(self, peers: tuple[str, ...], now: float) -> None:
        self._go(_I.SEEDS)
        self._ask_places(self._join_seeds(peers), now)

    def _ask_places(self, seeds: tuple[str, ...], now: float) -> None:
        self._join_number += 1
        self.candidates = []
        self._unanswered = set(seeds)
        # An orphan needs a parent soon: its former ancestors answer without asking the source.
        is_compared = len(seeds) > 1 and not self._rejoin_seeds
        self._rejoin_seeds = ()
        bitmap = self.overlap.bitmap()
        for seed in seeds:
            self._send(
                seed,
                Add(
                    self.source,
                    joiner=self.name,
                    join=self._join_number,
                    seed=seed,
                    interest=self.aggregate,
                    bitmap=bitmap,
                    is_compared=is_compared,
                    route=(),
                    costs=(),
                    excluded=(),
                    hops=0,
                ),
            )
        self.phase_at = now + self._patience()

    def _on_seeds(self, sender: str, message: Seeds, now: float) -> None:
        if self.state is _S.LOCATING and sender == self.agent:
            self._take_seeds(message.peers, now)

    def _on_add(self, sender: str, message: Add, now: float) -> None:
        joiner = message.joiner
        is_useless = (
            not self.is_connected
            or joiner == self.name
            or joiner in self.path
            or message.hops >= ADD_HOPS_MAX
            or len(message.excluded) >= EXCLUDED_PEERS_MAX
            or len(message.costs) > DEPTH_MAX
        )
        if is_useless:
            self._send(joiner, AddRefused(self.source, message.join, message.seed))
            return
        if self._is_costed_first(message):
            route = (*self.path[1:], self.name)
            self._send(self.source, msgspec.structs.replace(message, route=route, hops=1))
            return
        bitmap = message.bitmap
        if bitmap is None and self.overlap.statistics.is_primed():
            bitmap = self.overlap.estimate(message.interest)
        cost = 0.0
        if bitmap is not None and self.state is not _S.ROOT:
            cost = self.overlap.missing(bitmap) or 0.0
        following = message.route[0] if message.route else None
        if following is not None and following in self.children:
            self._send(
                following,
                msgspec.structs.replace(
                    message,
                    bitmap=bitmap,
                    route=message.route[1:],
                    costs=(*message.costs, cost),
                    hops=message.hops + 1,
                ),
            )
            return
        if (
            self.state in ACCEPTS_CHILDREN
            and self.name not in message.excluded
            and (self._has_place_for(joiner) or self._passed_on_for(joiner) is not None)
        ):
            self._send(
                joiner,
                AddResult(
                    self.source,
                    join=message.join,
                    seed=message.seed,
                    cost=sum(message.costs) + cost,
                    depth=len(self.path),
                    bitmap=bitmap,
                    displaced=self._passed_on_for(joiner),
                ),
            )
            return
        child = self.overlap.max_overlap_child(
            message.interest, bitmap, without={joiner, *message.excluded}
        )
        excluded, costs = message.excluded, (*message.costs, cost)
        if child is None and self.parent is not None:
            # A dead end: the peer is full, and so is everything below it.
            child = self.parent
            excluded, costs = (*excluded, self.name), message.costs[:-1]
        if child is None:
            self._send(joiner, AddRefused(self.source, message.join, message.seed))
            return
        self._send(
            child,
            msgspec.structs.replace(
                message,
                bitmap=bitmap,
                route=(),
                costs=costs,
                excluded=excluded,
                hops=message.hops + 1,
            ),
        )

    def _is_costed_first(self, message: Add) -> bool:
        """Whether a request is to come down from the source: only there all documents are known
        that the joiner matches, and the ancestors of a seed count as well."""
        return (
            message.is_compared
            and message.hops == 0
            and self.state is not _S.ROOT
            and self.stream.cursor >= PRIMED_DOCUMENTS_MIN
        )

    def _on_add_result(self, sender: str, message: AddResult, now: float) -> None:
        if message.join != self._join_number:
            return
        if self.state not in SEEKS_PLACE and self.state is not _S.WAITING:
            return
        tie = self._host.random.random()
        displaced = None if message.displaced is None else Displacement(message.displaced)
        self.candidates.append(Candidate(message.cost, message.depth, tie, sender, displaced))
        if message.bitmap is not None and not self.stream.is_started:
            self.overlap.statistics.start(message.bitmap.epoch, message.bitmap.last)
            self.overlap.extend_back(message.bitmap)
        if self.state is _S.WAITING:
            # A late answer, better than asking again.
            self._choose_candidate(now)
        else:
            self._answered(message.seed, now)

    def _on_add_refused(self, sender: str, message: AddRefused, now: float) -> None:
        if self.state in SEEKS_PLACE and message.join == self._join_number:
            self._answered(message.seed, now)

    def _answered(self, seed: str, now: float) -> None:
        self._unanswered.discard(seed)
        if not self._unanswered:
            self._choose_candidate(now)

    def _choose_candidate(self, now: float) -> None:
        """All seeds have answered, or their time is over."""
        is_relocating = self.state is _S.RELOCATING
        best: dict[str, Candidate] = {}
        for candidate in sorted(self.candidates, key=lambda each: each[:4]):
            best.setdefault(candidate.peer, candidate)
        self.candidates = list(best.values())
        if is_relocating:
            stays = not self.candidates or self.candidates[0].peer == self.parent
            if stays or self.is_locked:
                self.candidates = []
        if self.candidates:
            self._go(_I.CANDIDATES)
            self._try_next(now)
            return
        self._go(_I.NO_CANDIDATE)
        if not is_relocating:
            self._failures += 1
            self.phase_at = now + self._back_off.next_seconds()

    def _passed_on_for(self, joiner: str) -> str | None:
        """The child whose place a peer takes that this one has displaced."""
        awaited = self.awaited
        if awaited is None or awaited.peer != joiner or self._has_place_for(joiner):
            return None
        return awaited.passed_on if self._can_displace(awaited.passed_on, joiner) else None
