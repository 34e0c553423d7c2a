"""Measures the querying time of each rewriting strategy, and generates the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from time import process_time

from penstock.lab.bench.timing import interleaved
from penstock.lab.catalogues import CATALOGUES, CatalogueDocuments
from penstock.lab.catalogues.rewritten_documents import (
    RewrittenDocument,
    index_of,
    match_rewritten,
    match_through,
    rewritten_document,
)
from penstock.lab.catalogues.subscriptions import subscriptions
from penstock.matching import Matcher
from penstock.mediation import MediatedMatcher, Way

SEED = 1
"""The seed of all inputs, so that two runs measure the same work."""

LARGE_BYTES = 100_000
LARGE_SHARE = 4
"""Of documents of at least ``LARGE_BYTES``, only every fourth catalogue has one, to save time."""

WAYS: tuple[Way, ...] = ("sdr", "nddr", "iddr")
"""The strategies in the paper's order."""


@cache
def draw(catalogues: int, size_bytes: int) -> tuple[RewrittenDocument, ...]:
    """Generate a document of this size for each of the first catalogues."""
    chosen = CATALOGUES[: catalogues : LARGE_SHARE if size_bytes >= LARGE_BYTES else 1]
    return tuple(
        rewritten_document(each, CatalogueDocuments(each).document(size_bytes, SEED))
        for each in chosen
    )


@cache
def subscription_matcher(count: int) -> Matcher:
    """A matcher of ``count`` subscriptions to the global schema."""
    return index_of(subscriptions(count, SEED)).matcher()


@dataclass(frozen=True, slots=True)
class QueryingTime:
    """Mean seconds per document."""

    plain: float
    """Matching a document that is already rewritten."""
    ways: dict[Way, float]
    """Matching through a mapping; for SDR this includes rewriting."""

    def at_router(self, way: Way) -> float:
        """The time at each router."""
        return self.plain if way == "sdr" else self.ways[way]

    def beforehand(self, way: Way) -> float:
        """The time at the mediator, spent once."""
        return max(0.0, self.ways[way] - self.plain) if way == "sdr" else 0.0


def measure(
    sent: Sequence[RewrittenDocument], count: int, repeats: int, ways: Sequence[Way] = WAYS
) -> QueryingTime:
    """Time matching all documents with ``count`` subscriptions by each strategy.

    Measures CPU time, as the paper does.
    """
    plain = subscription_matcher(count)
    works: dict[str, Callable[[], int]] = {"plain": partial(match_rewritten, plain, sent)}
    for way in ways:
        works[way] = partial(match_through, MediatedMatcher(plain, way=way), sent)
    # This warms the automaton, and checks that all strategies find the same matches.
    matches = {work() for work in works.values()}
    assert len(matches) == 1, matches
    times = interleaved(works, repeats=repeats, clock=process_time)
    seconds = {name: timing.median / len(sent) for name, timing in times.items()}
    return QueryingTime(seconds["plain"], {way: seconds[way] for way in ways})
