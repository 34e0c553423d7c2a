"""A built-in workload, generated at the size of a benchmark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from penstock.lab.workload import workload
from penstock.matching import SubscriptionIndex

SEED = 1
"""The seed of every benchmark, so that two runs measure the same work."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of one part of a benchmark."""

    subscriptions: int
    documents: int
    repeats: int


@dataclass(frozen=True, slots=True)
class BenchWorkload:
    """The subscriptions and documents of a measurement."""

    ids: Sequence[str]
    queries: Sequence[str]
    documents: Sequence[bytes]

    def index(self) -> SubscriptionIndex:
        """A new index of the subscriptions."""
        index = SubscriptionIndex()
        errors = index.add_many(self.ids, self.queries)
        assert not errors, next(iter(errors.values()))
        return index

    def reduced_to(self, kept: Collection[str], count: int) -> BenchWorkload:
        """The same documents with ``count`` subscriptions: ``kept`` and the first of the others."""
        assert len(kept) <= count
        wanted = set(kept)
        for id_ in self.ids:
            if len(wanted) >= count:
                break
            wanted.add(id_)
        pairs = [pair for pair in zip(self.ids, self.queries, strict=True) if pair[0] in wanted]
        ids, queries = [id_ for id_, _ in pairs], [query for _, query in pairs]
        return replace(self, ids=ids, queries=queries)


def draw(name: str, setting: Setting, *, extra: int = 0) -> BenchWorkload:
    """Generate a workload by name, with ``extra`` subscriptions beyond those of the setting."""
    chosen = workload(name)
    count = setting.subscriptions + extra
    return BenchWorkload(
        ids=[f"s{number}" for number in range(count)],
        queries=chosen.queries(count, seed=SEED),
        documents=list(chosen.documents(setting.documents, seed=SEED)),
    )
