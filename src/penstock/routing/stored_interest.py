"""Announced interests as plain data, and routers' interests that do not change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn, Protocol

from penstock.errors import error
from penstock.routing.aggregate_delta import digest_of
from penstock.routing.neighbour_patterns import parse_patterns
from penstock.routing.patterns import Pattern
from penstock.routing.router_messages import (
    DigestConfirmation,
    DigestRequest,
    SubscriptionDelta,
    SubscriptionSnapshot,
)
from penstock.routing.synopsis import SampledDocuments

STORED_INTEREST_VERSION = 1
"""Version of the encoding of a stored interest."""


class Announcement(Protocol):
    """The interest that a router announces to a neighbour."""

    @property
    def digest(self) -> str:
        """The digest of the announced set."""

    @property
    def digests(self) -> list[bytes]:
        """The digests of the announced patterns."""

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The announced patterns, in the order of their digests."""

    def member_pattern(self, member: str) -> Pattern:
        """The pattern of a member."""

    def pattern_for(self, member: str) -> Pattern:
        """The narrowest announced pattern that is known to contain a member."""

    def change(
        self, added: Mapping[str, Pattern], removed: Iterable[str]
    ) -> SubscriptionDelta | None:
        """Add and remove members."""

    @property
    def is_merged(self) -> bool:
        """Whether precision was lost to the bound, and can be regained by other merges."""

    def resample(self, sample: SampledDocuments) -> SubscriptionDelta | None:
        """Choose what is merged by other documents."""

    def answer(self, request: DigestRequest) -> DigestConfirmation | SubscriptionSnapshot:
        """The answer to the neighbour's request."""


def answer_to(
    request: DigestRequest, digest: str, patterns: Iterable[Pattern]
) -> DigestConfirmation | SubscriptionSnapshot:
    """The answer of a router that announces these patterns, which have this digest."""
    if request.digest == digest:
        return DigestConfirmation(number=request.number, digest=digest)
    keys = tuple(pattern.key for pattern in patterns)
    return SubscriptionSnapshot(number=request.number, digest=digest, patterns=keys)


@dataclass(frozen=True, slots=True)
class StoredInterest:
    """The announced interest of a router, with what its annotations need.

    Examples
    --------
    >>> from penstock.routing.announced_interest import AnnouncedInterest
    >>> members = {"s1": Pattern.of_path("/a/b"), "s2": Pattern.of_path("/a/c")}
    >>> stored = StoredInterest.of(AnnouncedInterest(members, bound=2), members)
    >>> [str(pattern) for pattern in stored.patterns], sorted(stored.containers)
    (['/a/*'], ['s1', 's2'])
    >>> StoredInterest.from_bytes(stored.to_bytes()) == stored
    True
    """

    patterns: tuple[Pattern, ...] = ()
    """The announced patterns, in the order of their digests."""

    containers: Mapping[str, bytes] = field(default_factory=dict)
    """The digest of the announced pattern that contains a member, for members whose own pattern is
    not announced."""

    @classmethod
    def of(cls, announced: Announcement, members: Mapping[str, Pattern]) -> StoredInterest:
        """The interest that a router with these members announces."""
        digests = set(announced.digests)
        return cls(
            announced.patterns,
            {
                member: announced.pattern_for(member).digest
                for member, pattern in members.items()
                if pattern.digest not in digests
            },
        )

    def to_bytes(self) -> bytes:
        """The encoded interest; equal interests have equal bytes."""
        stored = {
            "version": STORED_INTEREST_VERSION,
            "patterns": [pattern.key for pattern in self.patterns],
            "containers": {member: digest.hex() for member, digest in self.containers.items()},
        }
        return json.dumps(stored, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, encoded: bytes) -> StoredInterest:
        """The interest that was encoded.

        Raises
        ------
        RoutingError
            ``routing.state`` or ``routing.pattern``
        """
        try:
            stored = json.loads(encoded)
            if stored["version"] != STORED_INTEREST_VERSION:
                raise error("routing.state", f"unknown version {stored['version']} of an interest")
            keys = [str(key) for key in stored["patterns"]]
            containers = {
                str(member): bytes.fromhex(digest)
                for member, digest in stored["containers"].items()
            }
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise error("routing.state", f"a stored interest is malformed: {problem}") from None
        return cls(parse_patterns(keys), containers)


class FixedInterest:
    """An announced interest that was stored; it never changes.

    Parameters
    ----------
    stored
        The interest.
    members
        The members of the aggregated set.

    Raises
    ------
    RoutingError
        ``routing.state``: a member is in no announced pattern.
    """

    def __init__(self, stored: StoredInterest, members: Mapping[str, Pattern]) -> None:
        self.patterns = stored.patterns
        self._members = members
        self._by_digest = {pattern.digest: pattern for pattern in stored.patterns}
        self._containers = stored.containers
        for member, pattern in members.items():
            if stored.containers.get(member, pattern.digest) not in self._by_digest:
                raise error("routing.state", f"`{member}` is not part of the stored interest")

    @cached_property
    def digest(self) -> str:
        """The digest of the announced set."""
        return digest_of(self.patterns)

    @property
    def digests(self) -> list[bytes]:
        """The digests of the announced patterns."""
        return list(self._by_digest)

    def member_pattern(self, member: str) -> Pattern:
        """The pattern of a member."""
        return self._members[member]

    def pattern_for(self, member: str) -> Pattern:
        """The narrowest announced pattern that is known to contain a member."""
        own = self._members[member]
        return self._by_digest[self._containers.get(member, own.digest)]

    @property
    def is_merged(self) -> bool:
        """No: what was merged stays so."""
        return False

    def change(self, added: Mapping[str, Pattern], removed: Iterable[str]) -> NoReturn:
        """Refuse a change of the members."""
        raise error("routing.fixed", "the interests of this router are fixed")

    def resample(self, sample: SampledDocuments) -> NoReturn:
        """Refuse a change of the patterns."""
        self.change({}, ())

    def answer(self, request: DigestRequest) -> DigestConfirmation | SubscriptionSnapshot:
        """The answer to the neighbour's request."""
        return answer_to(request, self.digest, self.patterns)
