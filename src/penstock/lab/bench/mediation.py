"""``bench mediation``: matching through mappings, compared with matching without rewriting.

The documents are course catalogues of all forty schemas, and of fifteen in the style of university
registrars, with short tags and values. NDDR matches them through their mappings.
The baseline matches the same subscriptions against the same content, already rewritten to the
global schema. Throughput is that of one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median

from penstock.lab.bench.bench_workload import SEED
from penstock.lab.bench.report import Figure, Progress, Report
from penstock.lab.bench.timing import Timing, interleaved
from penstock.lab.catalogues import CATALOGUES, CatalogueDocuments
from penstock.lab.catalogues.rewritten_documents import (
    RewrittenDocument,
    index_of,
    match_rewritten,
    match_through,
    rewritten_document,
)
from penstock.lab.catalogues.subscriptions import subscriptions
from penstock.lab.matching_catalogues.mapped_documents import (
    mapped_documents,
    registrar_subscriptions,
)
from penstock.matching import Matcher
from penstock.mediation import MediatedMatcher


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of the benchmark."""

    catalogues: int
    subscriptions: int
    sizes: tuple[int, ...]
    """Document sizes in bytes; each catalogue has one document of each size."""
    larger: tuple[int, ...]
    """Sizes in bytes of further documents, used only to measure memory."""
    repeats: int


FULL = Setting(
    catalogues=len(CATALOGUES),
    subscriptions=4_000,
    sizes=(10_000, 20_000, 40_000),
    larger=(1_000_000,),
    repeats=9,
)
QUICK = Setting(catalogues=4, subscriptions=100, sizes=(2_000,), larger=(4_000,), repeats=2)

FEW = 10
"""A number of subscriptions so small that rewriting dominates the time."""

REGISTRAR_SUBSCRIPTIONS = 1_000
"""Subscriptions to the catalogues of registrars."""


def draw(setting: Setting) -> list[RewrittenDocument]:
    """Generate the documents and rewrite each of them."""
    return [
        rewritten_document(one, CatalogueDocuments(one).document(size, SEED))
        for one in CATALOGUES[: setting.catalogues]
        for size in setting.sizes
    ]


def run(*, quick: bool, progress: Progress) -> Report:
    """Measure time and held memory."""
    setting = QUICK if quick else FULL
    progress("bench mediation: generating")
    sent = draw(setting)
    plain = subscription_matcher(setting.subscriptions)
    mediated = MediatedMatcher(plain)
    progress("bench mediation: matching with and without rewriting")
    matches = match_rewritten(plain, sent)
    assert match_through(mediated, sent) == matches
    times = timed(plain, sent, setting.repeats)
    few = timed(subscription_matcher(FEW), sent, setting.repeats)
    progress("bench mediation: catalogues of registrars")
    registrars = mapped_documents(setting.catalogues)
    queries = registrar_subscriptions(min(setting.subscriptions, REGISTRAR_SUBSCRIPTIONS), SEED)
    short_tags = timed(index_of(queries).matcher(), registrars, setting.repeats)
    registrar_size = sum(len(each.document) for each in registrars)
    progress("bench mediation: memory")
    held = held_memory_shares(mediated, setting)
    largest = max(held, key=lambda each: each[1])
    shares = [share for _, share in held]
    size = sum(len(each.document) for each in sent)
    figures = (
        Figure("documents", len(sent), ""),
        Figure("document size", size / len(sent) / 1024, "KB"),
        Figure("matches per document", matches / len(sent), ""),
        Figure("NDDR", size / times["nddr"].median / 1e6, "MB/s"),
        Figure("without rewriting", size / times["plain"].median / 1e6, "MB/s"),
        Figure("spread of the repeats", times["nddr"].spread, "x"),
        Figure(f"{FEW} subscriptions: NDDR", size / few["nddr"].median / 1e6, "MB/s"),
        Figure(
            f"{FEW} subscriptions: NDDR relative to no rewriting",
            few["nddr"].median / few["plain"].median,
            "x",
        ),
        Figure("registrars: NDDR", registrar_size / short_tags["nddr"].median / 1e6, "MB/s"),
        Figure("held memory, median", median(shares), "%"),
        Figure(f"held memory, maximum: {largest[0]}", largest[1], "%"),
    )
    values = {
        "nddr": times["nddr"].median / times["plain"].median,
        "registrars": short_tags["nddr"].median / short_tags["plain"].median,
        "held": mean(shares),
    }
    return Report.on_this_machine("mediation", quick=quick, figures=figures, values=values)


def subscription_matcher(count: int) -> Matcher:
    """A matcher of ``count`` subscriptions to the global schema."""
    return index_of(subscriptions(count, SEED)).matcher()


def timed(matcher: Matcher, sent: Sequence[RewrittenDocument], repeats: int) -> dict[str, Timing]:
    """Time matching with and without rewriting."""
    mediated = MediatedMatcher(matcher)
    works = {
        "plain": partial(match_rewritten, matcher, sent),
        "nddr": partial(match_through, mediated, sent),
    }
    for work in works.values():
        work()  # warm the automaton
    return interleaved(works, repeats=repeats)


def held_memory_shares(mediated: MediatedMatcher, setting: Setting) -> list[tuple[str, float]]:
    """Peak memory of the rewriter in percent of each document, with the catalogue's name."""
    found = []
    for one in CATALOGUES[: setting.catalogues]:
        source = CatalogueDocuments(one)
        for size in (*setting.sizes, *setting.larger):
            document = source.document(size, SEED)
            work = mediated.match(document, one.mapping).counters.work
            found.append((f"{one.name}, {size // 1000} KB", 100 * work.held_bytes / len(document)))
    return found
