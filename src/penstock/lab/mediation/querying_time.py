"""What is sent, and what it is matched against."""

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
"""Two runs measure the same work."""

LARGE_BYTES = 100_000
LARGE_SHARE = 4
"""Of documents this large one catalogue in so many sends one: else a run takes too long."""

WAYS: tuple[Way, ...] = ("sdr", "nddr", "iddr")
"""In the paper's order."""


@cache
def draw(catalogues: int, size_bytes: int) -> tuple[RewrittenDocument, ...]:
    """A document of this size from each of the first catalogues."""
    chosen = CATALOGUES[: catalogues : LARGE_SHARE if size_bytes >= LARGE_BYTES else 1]
    return tuple(
        rewritten_document(each, CatalogueDocuments(each).document(size_bytes, SEED))
        for each in chosen
    )


@cache
def subscription_matcher(count: int) -> Matcher:
    """So many subscriptions to the global schema."""
    return index_of(subscriptions(count, SEED)).matcher()


@dataclass(frozen=True, slots=True)
class QueryingTime:
    """Seconds that a document takes, on average."""

    plain: float
    """What is global already."""
    ways: dict[Way, float]
    """Through a mapping; in the case of SDR with rewriting."""

    def at_router(self, way: Way) -> float:
        """What every router does."""
        return self.plain if way == "sdr" else self.ways[way]

    def beforehand(self, way: Way) -> float:
        """What is done once, by the mediator."""
        return max(0.0, self.ways[way] - self.plain) if way == "sdr" else 0.0


def measure(
    sent: Sequence[RewrittenDocument], count: int, repeats: int, ways: Sequence[Way] = WAYS
) -> QueryingTime:
    """Match all documents against so many subscriptions, one way after the other.

    What counts is the processor's time, as in the paper.
    """
    plain = subscription_matcher(count)
    works: dict[str, Callable[[], int]] = {"plain": partial(match_rewritten, plain, sent)}
    for way in ways:
        works[way] = partial(match_through, MediatedMatcher(plain, way=way), sent)
    # The automaton grows once, and all ways find the same.
    matches = {work() for work in works.values()}
    assert len(matches) == 1, matches
    times = interleaved(works, repeats=repeats, clock=process_time)
    seconds = {name: timing.median / len(sent) for name, timing in times.items()}
    return QueryingTime(seconds["plain"], {way: seconds[way] for way in ways})
