"""A set of patterns by digest, with the digest of the whole set."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable
from typing import Final, Self

from penstock.routing.patterns import Pattern

_SORTED_SHARE: Final = 16
"""Changes of at least one in this number of the patterns are sorted together."""


class PatternSet:
    """Patterns in the order of their digests, which numbers them.

    A change moves the places of the others, and the digest is computed when it is asked for: one
    pass over 16 bytes per pattern.

    Examples
    --------
    >>> one, two = Pattern.of_path("/a"), Pattern.of_keywords("storm")
    >>> patterns = PatternSet([one])
    >>> before = patterns.digest
    >>> patterns.change([two], [])
    >>> len(patterns), patterns.size, patterns.digest == before
    (2, 2, False)
    >>> patterns.change([], [two.digest])
    >>> patterns.digest == before
    True
    """

    def __init__(self, patterns: Iterable[Pattern] = ()) -> None:
        self._by_digest = {pattern.digest: pattern for pattern in patterns}
        self._ordered = sorted(self._by_digest)
        self._digest: str | None = None
        self.size = sum(pattern.size for pattern in self._by_digest.values())
        """Pattern nodes of all."""

    def __len__(self) -> int:
        return len(self._by_digest)

    def __contains__(self, digest: object) -> bool:
        """Whether a pattern has the digest."""
        return digest in self._by_digest

    def __getitem__(self, digest: bytes) -> Pattern:
        return self._by_digest[digest]

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """All patterns, in the order of their digests."""
        return tuple(map(self._by_digest.__getitem__, self._ordered))

    @property
    def digest(self) -> str:
        """The digest of the sorted digests."""
        if self._digest is None:
            joined = b"".join(self._ordered)
            self._digest = hashlib.blake2b(joined, digest_size=16).hexdigest()
        return self._digest

    def copy(self) -> Self:
        """A set with the same patterns."""
        copied = type(self)()
        copied._by_digest = dict(self._by_digest)
        copied._ordered = list(self._ordered)
        copied._digest = self._digest
        copied.size = self.size
        return copied

    def change(self, added: Collection[Pattern], removed: Collection[bytes]) -> None:
        """Add patterns, and remove those with these digests, if present."""
        leaving = [digest for digest in dict.fromkeys(removed) if digest in self._by_digest]
        for digest in leaving:
            self.size -= self._by_digest.pop(digest).size
        arriving = {each.digest: each for each in added if each.digest not in self._by_digest}
        self.size += sum(pattern.size for pattern in arriving.values())
        self._by_digest |= arriving
        if _SORTED_SHARE * (len(arriving) + len(leaving)) > len(self._ordered):
            self._ordered = sorted(self._by_digest)
        else:
            for digest in leaving:
                del self._ordered[bisect_left(self._ordered, digest)]
            for digest in arriving:
                insort(self._ordered, digest)
        self._digest = None

    def difference(self, other: PatternSet) -> list[Pattern]:
        """The patterns that another set does not have, in the order of their digests."""
        missing = self._by_digest.keys() - other._by_digest.keys()
        return [self._by_digest[digest] for digest in sorted(missing)]
