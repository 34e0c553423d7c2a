"""Changes of an aggregated set, as sent upstream, and the copy that applies them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from penstock.errors import error
from penstock.routing.pattern_set import PatternSet
from penstock.routing.patterns import Pattern


def digest_of(patterns: Iterable[Pattern]) -> str:
    """The digest of a set of patterns, whatever their order.

    Examples
    --------
    >>> one, two = Pattern.of_path("/a"), Pattern.of_keywords("storm")
    >>> digest_of([one, two]) == digest_of([two, one]) != digest_of([one])
    True
    """
    return PatternSet(patterns).digest


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateDelta:
    """The difference between two states of an aggregated set."""

    before: str
    """Digest of the set that the delta applies to."""
    after: str
    """Digest of the resulting set."""
    added: tuple[Pattern, ...] = ()
    removed: tuple[bytes, ...] = ()
    """Digests of the removed patterns."""

    def __bool__(self) -> bool:
        """Whether anything changes."""
        return bool(self.added or self.removed)


class AggregateReplica:
    """The copy of a neighbour's aggregated set, which its deltas keep up to date.

    Examples
    --------
    >>> from penstock.routing import AggregatedSet
    >>> below, replica = AggregatedSet(), AggregateReplica()
    >>> replica.apply(below.subscribe({"s1": Pattern.of_path("/news//item")}))
    >>> replica.digest == below.digest, [str(pattern) for pattern in replica.patterns]
    (True, ['/news//item'])
    """

    def __init__(self, patterns: Iterable[Pattern] = ()) -> None:
        self._patterns = PatternSet(patterns)

    @property
    def digest(self) -> str:
        """The digest of the set."""
        return self._patterns.digest

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns in the order of their digests, which numbers them."""
        return self._patterns.patterns

    def __len__(self) -> int:
        """Number of patterns."""
        return len(self._patterns)

    def __contains__(self, digest: object) -> bool:
        """Whether a pattern of the set has the digest."""
        return digest in self._patterns

    def difference(self, other: AggregateReplica) -> list[Pattern]:
        """The patterns that another set does not have, in the order of their digests."""
        return self._patterns.difference(other._patterns)

    def after(self, delta: AggregateDelta) -> Self:
        """The set after the next delta; this one is not changed.

        Raises
        ------
        RoutingError
            ``routing.digest``: a delta is missing, or was applied before. Ask for the whole set.
        """
        if delta.before != self.digest:
            raise error("routing.digest", "the delta applies to another state of the set")
        changed = type(self)()
        changed._patterns = self._patterns.copy()
        changed._patterns.change(delta.added, delta.removed)
        if changed.digest != delta.after:
            raise error("routing.digest", "the delta does not result in the set that it states")
        return changed

    def apply(self, delta: AggregateDelta) -> None:
        """Apply the next delta; if it does not fit, nothing is changed.

        Raises
        ------
        RoutingError
            ``routing.digest``: as for :meth:`after`.
        """
        self._patterns = self.after(delta)._patterns
