"""The interest that a router announces to a neighbour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.routing.aggregate_delta import AggregateDelta
from penstock.routing.aggregated_set import AggregatedSet
from penstock.routing.patterns import Pattern
from penstock.routing.router_messages import (
    DigestConfirmation,
    DigestRequest,
    SubscriptionDelta,
    SubscriptionSnapshot,
)
from penstock.routing.stored_interest import answer_to
from penstock.routing.synopsis import SampledDocuments


class AnnouncedInterest:
    """An aggregated set over local subscriptions and the interests of the other neighbours.

    Examples
    --------
    >>> interest = AnnouncedInterest({}, bound=100)
    >>> delta = interest.change({"s1": Pattern.of_path("/a")}, [])
    >>> len(delta.added), interest.change({"s2": Pattern.of_path("/a")}, []) is None
    (1, True)
    """

    def __init__(self, members: Mapping[str, Pattern], *, bound: int, refine: bool = True) -> None:
        self._members = AggregatedSet.build(members, bound=bound, refine=refine)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The announced patterns, which the neighbour has once it has applied all deltas."""
        return self._members.patterns

    @property
    def digest(self) -> str:
        """The digest of the announced set."""
        return self._members.digest

    @property
    def digests(self) -> list[bytes]:
        """The digests of the announced patterns."""
        return [pattern.digest for pattern in self._members.patterns]

    def member_pattern(self, member: str) -> Pattern:
        """The pattern of a member."""
        return self._members.member_pattern(member)

    def pattern_for(self, member: str) -> Pattern:
        """The narrowest announced pattern that is known to contain a member."""
        return self._members.pattern_for(member)

    def change(
        self, added: Mapping[str, Pattern], removed: Iterable[str]
    ) -> SubscriptionDelta | None:
        """Add and remove members; returns the delta, or ``None`` if the aggregate is the same.

        It is one delta: two would let a document pass between them that is in neither set.
        """
        return _message(self._members.change(added, removed))

    @property
    def is_merged(self) -> bool:
        """Whether precision was lost to the bound."""
        return self._members.is_merged

    def resample(self, sample: SampledDocuments) -> SubscriptionDelta | None:
        """Choose what is merged by other documents; returns the delta, or ``None``."""
        return _message(self._members.resample(sample))

    def answer(self, request: DigestRequest) -> DigestConfirmation | SubscriptionSnapshot:
        """The answer to the neighbour's request."""
        return answer_to(request, self.digest, self.patterns)


def _message(delta: AggregateDelta) -> SubscriptionDelta | None:
    if not delta:
        return None
    return SubscriptionDelta(
        before=delta.before,
        after=delta.after,
        added=tuple(pattern.key for pattern in delta.added),
        removed=delta.removed,
    )
