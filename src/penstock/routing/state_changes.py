"""What changed in the state of a router, so that a store can write it incrementally."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.patterns import Pattern
from penstock.routing.router_messages import ForwardedDocument
from penstock.routing.router_state import RouterCounters


@dataclass(slots=True)
class QueueChanges:
    """Documents that were added to a queue and removed from it, by their position.

    A store removes first: a position can be used again.
    """

    added: dict[int, ForwardedDocument] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)

    def add(self, position: int, document: ForwardedDocument) -> None:
        """A document was added."""
        self.added[position] = document

    def remove(self, position: int) -> None:
        """A document was removed."""
        if self.added.pop(position, None) is None:
            self.removed.add(position)


@dataclass(slots=True)
class PatternChanges:
    """Patterns that a neighbour's interest gained and lost, by digest. A store removes first."""

    added: dict[bytes, Pattern] = field(default_factory=dict)
    removed: set[bytes] = field(default_factory=set)

    def change(self, added: Iterable[Pattern], removed: Iterable[Pattern]) -> None:
        """The interest changed."""
        for pattern in removed:
            self.added.pop(pattern.digest, None)
            self.removed.add(pattern.digest)
        for pattern in added:
            self.added[pattern.digest] = pattern


@dataclass(frozen=True, slots=True)
class RememberedIdentity:
    """A document arrived, or one is not remembered any more."""

    publisher: str
    added: bytes | None
    """Digest of its identity; ``None`` if it was known, or none arrived."""
    evicted: bytes | None
    """Digest that is not remembered any more."""


@dataclass(frozen=True, slots=True)
class ForgottenPublisher:
    """The identities of a publisher are not remembered any more."""

    publisher: str


WindowChange = RememberedIdentity | ForgottenPublisher
"""All changes of the remembered identities; a store applies them in order."""


@dataclass(slots=True)
class NeighbourChanges:
    """What changed about a neighbour."""

    patterns: PatternChanges = field(default_factory=PatternChanges)
    waiting: QueueChanges = field(default_factory=QueueChanges)


@dataclass(slots=True)
class ChangeLog:
    """Collects the changes of a router."""

    subscribed: dict[str, LocalSubscription] = field(default_factory=dict)
    unsubscribed: set[str] = field(default_factory=set)
    """A store removes first: an id can be used again."""

    neighbours: dict[str, NeighbourChanges] = field(default_factory=dict)
    window: list[WindowChange] = field(default_factory=list)

    @property
    def has_changes(self) -> bool:
        """Whether anything changed, except the counters and how a neighbour's link is."""
        return bool(
            self.subscribed
            or self.unsubscribed
            or self.window
            or any(
                each.patterns.added
                or each.patterns.removed
                or each.waiting.added
                or each.waiting.removed
                for each in self.neighbours.values()
            )
        )

    def subscribe(self, subscriptions: Mapping[str, LocalSubscription]) -> None:
        """Subscriptions were added."""
        self.subscribed |= subscriptions

    def unsubscribe(self, ids: Iterable[str]) -> None:
        """Subscriptions were removed."""
        for id_ in ids:
            self.subscribed.pop(id_, None)
            self.unsubscribed.add(id_)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourValues:
    """What is stored of a neighbour as it is, besides its changes."""

    is_known: bool
    """Whether its interest is known."""

    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanges:
    """What changed in the state of a router since this was asked last."""

    log: ChangeLog
    neighbours: Mapping[str, NeighbourValues]
    """The current values of all neighbours."""

    counters: RouterCounters
    """The current counters."""
