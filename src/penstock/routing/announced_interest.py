"""The interest that a router announces to a neighbour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.routing.aggregated_set import AggregatedSet
from penstock.routing.patterns import Pattern
from penstock.routing.router_messages import (
    DigestConfirmation,
    DigestRequest,
    SubscriptionDelta,
    SubscriptionSnapshot,
)


class AnnouncedInterest:
    """An aggregated set over local subscriptions and the interests of the other neighbours.

    Examples
    --------
    >>> interest = AnnouncedInterest({}, bound=100)
    >>> delta = interest.change({"s1": Pattern.of_path("/a")}, [])
    >>> len(delta.added), interest.change({"s2": Pattern.of_path("/a/b")}, []) is None
    (1, True)
    """

    def __init__(self, members: Mapping[str, Pattern], *, bound: int) -> None:
        self._members = AggregatedSet.build(members, bound=bound)

    def change(
        self, added: Mapping[str, Pattern], removed: Iterable[str]
    ) -> SubscriptionDelta | None:
        """Add and remove members; returns the delta, or ``None`` if the aggregate is the same.

        It is one delta: two would let a document pass between them that is in neither set.
        """
        before = {pattern.digest: pattern for pattern in self._members.patterns}
        old_digest = self._members.digest
        if added:
            self._members.subscribe(added)
        leaving = list(removed)
        if leaving:
            self._members.unsubscribe(leaving)
        after = {pattern.digest: pattern for pattern in self._members.patterns}
        if before.keys() == after.keys():
            return None
        return SubscriptionDelta(
            before=old_digest,
            after=self._members.digest,
            added=tuple(after[digest].key for digest in after if digest not in before),
            removed=tuple(digest for digest in before if digest not in after),
        )

    def answer(self, request: DigestRequest) -> DigestConfirmation | SubscriptionSnapshot:
        """The answer to the neighbour's request."""
        digest = self._members.digest
        if request.digest == digest:
            return DigestConfirmation(number=request.number, digest=digest)
        keys = tuple(pattern.key for pattern in self._members.patterns)
        return SubscriptionSnapshot(number=request.number, digest=digest, patterns=keys)
