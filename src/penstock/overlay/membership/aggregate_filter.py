"""What a peer and all below it want, and what of it the ancestors are known to forward."""

from __future__ import annotations

from typing import NamedTuple

from penstock.overlay.interest import Interest, InterestModel
from penstock.overlay.membership.children import Children
from penstock.overlay.peer_messages import Attempt, Edge
from penstock.overlay.replay_buffer import Coverage


class RelayedAttempt(NamedTuple):
    """An attach attempt of another peer that passed here and has not returned."""

    edge: Edge
    """Of the child that the request came from."""

    child_version: int
    """Of the filter that the child stated."""

    interest: Interest
    """The aggregate filter that was stated to the parent."""

    version: int
    stated_at: tuple[int, int]
    """Epoch and cursor of this peer since when the child's statement is in force here. What was
    confirmed from an earlier sequence number on is another statement."""

    expires_at: float


class AggregateFilter:
    """The union of the peer's own subscription and the filters of its children, by version.

    What is *confirmed* is covered by what was stated to the parent last. So is what relayed
    attempts have stated: those that need more are void.
    """

    __slots__ = (
        "_children",
        "_model",
        "confirmed",
        "confirmed_after",
        "coverage",
        "interest",
        "own",
        "relayed",
        "version",
    )

    def __init__(self, model: InterestModel, children: Children, own: Interest) -> None:
        self._model = model
        self._children = children
        self.own = own
        self.interest = own
        """What is stated to the parent."""
        self.version = 0
        self.confirmed: Interest = model.nothing
        """What the parent and its ancestors are known to forward."""
        self.confirmed_after = 0
        """The sequence number from which on they do."""
        self.coverage = Coverage(model)
        self.relayed: dict[Attempt, RelayedAttempt] = {}

    @property
    def is_locked(self) -> bool:
        """Whether an attach attempt of another peer passed here and has not returned."""
        return bool(self.relayed)

    def update(self) -> bool:
        """Recompute the union. Returns whether it changed."""
        if self._children:
            filters = (child.filter for child in self._children.values())
            aggregate = self._model.union((self.own, *filters))
        else:
            aggregate = self.own
        if aggregate.digest == self.interest.digest:
            return False
        self.interest = aggregate
        self.version += 1
        return True

    def note_statement(self, cursor: int) -> None:
        """It is stated to the parent, which forwards nothing else after ``cursor``."""
        covers = self._model.covers
        self.coverage.narrowed(cursor, self.interest)
        if covers(self.confirmed, self.interest):
            self.confirmed = self.interest
        elif not covers(self.interest, self.confirmed):
            self.confirmed = self._model.nothing
        for attempt, relayed in list(self.relayed.items()):
            if not covers(self.interest, relayed.interest):
                del self.relayed[attempt]

    def confirm(self, sequence: int, interest: Interest) -> None:
        """The ancestors forward an interest after a sequence number."""
        self.coverage.confirmed(sequence, interest)
        self.confirmed = interest
        self.confirmed_after = sequence

    def start_epoch(self) -> None:
        """The sequence starts anew: what was received of the former one does not matter."""
        self.coverage.clear()
        self.confirmed_after = 0

    def is_confirmed(self) -> bool:
        """Whether the ancestors forward what this peer and its children want.

        Children whose attempts are under way do not count: their requests state the filter.
        """
        covers = self._model.covers
        return covers(self.confirmed, self.own) and all(
            covers(self.confirmed, child.filter)
            for child in self._children.values()
            if child.is_active
        )

    def relay(
        self,
        attempt: Attempt,
        *,
        edge: Edge,
        child_version: int,
        stated_at: tuple[int, int],
        expires_at: float,
    ) -> None:
        """An attempt passes, or does so again, and states the present filter."""
        known = self.relayed.get(attempt)
        if known is not None and known[:4] == (edge, child_version, self.interest, self.version):
            stated_at = known.stated_at
        self.relayed[attempt] = RelayedAttempt(
            edge, child_version, self.interest, self.version, stated_at, expires_at
        )

    def unlock(self, attempt: Attempt) -> RelayedAttempt | None:
        """An attempt that passed has returned, or not in time."""
        return self.relayed.pop(attempt, None)

    def unlock_expired(self, now: float) -> None:
        """Forget the attempts that have not returned in time."""
        for attempt, relayed in list(self.relayed.items()):
            if relayed.expires_at <= now:
                self.unlock(attempt)
