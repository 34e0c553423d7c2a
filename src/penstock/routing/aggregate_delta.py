"""Changes of an aggregated set, as sent upstream, and the copy that applies them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import error
from penstock.routing.patterns import Pattern


def digest_of(patterns: Iterable[Pattern]) -> str:
    """The digest of a set of patterns, whatever their order.

    Examples
    --------
    >>> one, two = Pattern.of_path("/a"), Pattern.of_keywords("storm")
    >>> digest_of([one, two]) == digest_of([two, one]) != digest_of([one])
    True
    """
    digest = hashlib.blake2b(digest_size=16)
    for each in sorted(pattern.digest for pattern in patterns):
        digest.update(each)
    return digest.hexdigest()


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
        self._patterns = {pattern.digest: pattern for pattern in patterns}
        self._digest = digest_of(self._patterns.values())

    @property
    def digest(self) -> str:
        """The digest of the set."""
        return self._digest

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns in the order of their digests, which numbers them."""
        return tuple(self._patterns[digest] for digest in sorted(self._patterns))

    def apply(self, delta: AggregateDelta) -> None:
        """Apply the next delta.

        Raises
        ------
        RoutingError
            ``routing.digest``: a delta is missing, or was applied before. Nothing is changed; ask
            for the whole set.
        """
        if delta.before != self._digest:
            raise error("routing.digest", "the delta applies to another state of the set")
        patterns = dict(self._patterns)
        for digest in delta.removed:
            patterns.pop(digest, None)
        patterns |= {pattern.digest: pattern for pattern in delta.added}
        if digest_of(patterns.values()) != delta.after:
            raise error("routing.digest", "the delta does not result in the set that it states")
        self._patterns, self._digest = patterns, delta.after
