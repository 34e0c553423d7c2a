"""The bucket model: interests and documents of the paper's synthetic experiments.

A subscription is the subscriber's own number. A document carries the set of subscribers that it is
mapped to, because which buckets a subscriber is in changes with the data, not with the
subscriptions. Sets of subscribers are integers: bit ``i`` stands for subscriber ``i``.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import comb

from penstock.errors import error
from penstock.overlay.interest import Interest

_BYTES_MAX = 1 << 20


class BucketInterest(Interest):
    """A set of subscribers."""

    __slots__ = ("members",)

    def __init__(self, members: int) -> None:
        self.members = members

    @classmethod
    def of(cls, subscriber: int) -> BucketInterest:
        """The subscription of one subscriber."""
        return cls(1 << subscriber)

    @property
    def digest(self) -> str:
        """The set in hexadecimal."""
        return f"{self.members:x}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BucketInterest) and self.members == other.members

    def __hash__(self) -> int:
        return hash(self.members)

    def __repr__(self) -> str:
        return f"BucketInterest({self.members:#b})"


@dataclass(frozen=True, slots=True)
class BucketDocument:
    """A document that is mapped to a set of subscribers."""

    number: int
    members: int
    size: int = 1_000
    """Bytes that it counts for."""


class BucketSummary:
    """The documents of the window themselves."""

    __slots__ = ("_documents",)

    def __init__(self, window: int) -> None:
        self._documents: deque[tuple[int, int]] = deque(maxlen=window)

    def observe(self, sequence: int, document: BucketDocument) -> None:
        """Add a document."""
        self._documents.append((sequence, document.members))

    def look_up(self, interest: BucketInterest, first: int, last: int) -> int:
        """The documents ``first`` to ``last`` that match."""
        wanted = interest.members
        bits = 0
        for sequence, members in self._documents:
            if members & wanted and first <= sequence <= last:
                bits |= 1 << (sequence - first)
        return bits

    def clear(self) -> None:
        """Forget everything."""
        self._documents.clear()

    @property
    def evicted(self) -> int:
        """Nothing: a document is a number here."""
        return 0


class BucketModel:
    """The language of bucket interests.

    >>> model = BucketModel()
    >>> both = model.union([BucketInterest.of(0), BucketInterest.of(2)])
    >>> model.covers(both, BucketInterest.of(2)), model.covers(both, BucketInterest.of(1))
    (True, False)
    >>> model.matches(both, BucketDocument(1, 0b110))
    True
    """

    nothing = BucketInterest(0)

    def union(self, interests: Iterable[BucketInterest]) -> BucketInterest:
        """The union, exactly."""
        members = 0
        for interest in interests:
            members |= interest.members
        return BucketInterest(members)

    def covers(self, interest: BucketInterest, other: BucketInterest) -> bool:
        """Whether ``other`` is a subset."""
        return not other.members & ~interest.members

    def matches(self, interest: BucketInterest, document: BucketDocument) -> bool:
        """Whether the document is mapped to one of the subscribers."""
        return (interest.members & document.members) != 0

    def similarity(self, interest: BucketInterest, other: BucketInterest) -> float:
        """The share of ``other`` that is in ``interest``. Subscribers are opaque: different ones
        have nothing in common."""
        return (interest.members & other.members).bit_count() / max(1, other.members.bit_count())

    def new_summary(self, window: int) -> BucketSummary:
        """A summary of the window."""
        return BucketSummary(window)

    def size(self, document: BucketDocument) -> int:
        """The bytes that the document counts for."""
        return document.size

    def encode_interest(self, interest: BucketInterest) -> bytes:
        """As bytes, least significant first."""
        return _encoded(interest.members)

    def decode_interest(self, encoded: bytes) -> BucketInterest:
        """From bytes."""
        return BucketInterest(_decoded(encoded))

    def encode_document(self, document: BucketDocument) -> tuple[bytes, bytes]:
        """Number and size as header, the set as body."""
        return f"{document.number} {document.size}".encode(), _encoded(document.members)

    def decode_document(self, header: bytes, body: bytes) -> BucketDocument:
        """From bytes."""
        try:
            number, size = map(int, header.split())
        except ValueError:
            raise error("overlay.message", "malformed document of the bucket model") from None
        return BucketDocument(number, _decoded(body), size)


def _encoded(members: int) -> bytes:
    return members.to_bytes((members.bit_length() + 7) // 8, "little")


def _decoded(encoded: bytes) -> int:
    if len(encoded) > _BYTES_MAX:
        raise error("overlay.message", "the set of subscribers is too large")
    return int.from_bytes(encoded, "little")


@dataclass(slots=True)
class BucketWorkload:
    """Documents of the bucket model, by seed.

    Each subscriber is a member of ``buckets_per_subscriber`` of the ``k`` buckets. Each document is
    mapped to every member of a fixed number of buckets, which is chosen so that the average
    selectivity is as close as possible to ``selectivity``. A shuffle splits ``shuffled`` buckets in
    two and merges random pairs of the halves.

    >>> workload = BucketWorkload(subscribers=400, random=random.Random(1))
    >>> workload.buckets_per_document
    4
    >>> documents = [workload.next_document() for _ in range(1000)]
    >>> round(sum(each.members.bit_count() for each in documents) / 400 / 1000, 2)
    0.2
    """

    subscribers: int
    random: random.Random
    k: int = 20
    selectivity: float = 0.2
    buckets_per_subscriber: int = 1
    shuffled: int | None = None
    """Buckets that a shuffle splits; ``k / 5`` by default."""

    shuffle_every: int | None = None
    """Documents between two shuffles; ``None`` for never."""

    buckets_per_document: int = field(init=False)
    _buckets: list[list[int]] = field(init=False, repr=False)
    _masks: list[int] = field(init=False, repr=False)
    _published: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if not 1 <= self.buckets_per_subscriber <= self.k or not 0 < self.selectivity < 1:
            raise error("overlay.option", "a subscriber is in 1 to k buckets, 0 < selectivity < 1")
        if self.shuffled is None:
            self.shuffled = max(1, self.k // 5)
        if not 1 <= self.shuffled <= self.k:
            raise error("overlay.option", "a shuffle splits 1 to k buckets")
        self.buckets_per_document = min(
            range(1, self.k + 1), key=lambda count: abs(self._hit_share(count) - self.selectivity)
        )
        # Round-robin over random permutations, so that buckets are of equal size.
        self._buckets = [[] for _ in range(self.k)]
        order: list[int] = []
        for subscriber in range(self.subscribers):
            chosen: set[int] = set()
            while len(chosen) < self.buckets_per_subscriber:
                if not order:
                    order = self.random.sample(range(self.k), self.k)
                bucket = order.pop()
                if bucket not in chosen:
                    chosen.add(bucket)
                    self._buckets[bucket].append(subscriber)
        self._masks = [_mask(bucket) for bucket in self._buckets]

    def _hit_share(self, count: int) -> float:
        """The probability that one of ``count`` buckets contains a subscriber."""
        return 1 - comb(self.k - self.buckets_per_subscriber, count) / comb(self.k, count)

    def next_document(self) -> BucketDocument:
        """The next document, after a shuffle if one is due."""
        if self.shuffle_every and self._published and self._published % self.shuffle_every == 0:
            self.shuffle()
        self._published += 1
        members = 0
        for bucket in self.random.sample(range(self.k), self.buckets_per_document):
            members |= self._masks[bucket]
        return BucketDocument(self._published, members)

    def shuffle(self) -> None:
        """Splits buckets in two, and merges random pairs of the halves.

        A subscriber in several buckets may find itself twice in one; both memberships are kept
        apart by later splits, so their number is fixed.
        """
        assert self.shuffled is not None
        chosen = self.random.sample(range(self.k), self.shuffled)
        halves: list[list[int]] = []
        for bucket in chosen:
            members = self._buckets[bucket]
            self.random.shuffle(members)
            middle = len(members) // 2
            halves += [members[:middle], members[middle:]]
        self.random.shuffle(halves)
        for index, bucket in enumerate(chosen):
            self._buckets[bucket] = halves[2 * index] + halves[2 * index + 1]
            self._masks[bucket] = _mask(self._buckets[bucket])


def _mask(members: Iterable[int]) -> int:
    mask = 0
    for member in members:
        mask |= 1 << member
    return mask
