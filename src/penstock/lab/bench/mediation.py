"""``bench mediation``: matching through a mapping, against matching what needs none.

The documents are course catalogues of all forty schemas. NDDR matches them through their mappings;
without rewriting the same subscriptions are matched on the same content, already under the global
schema. Throughput is that of one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median

from penstock.lab.bench.bench_workload import SEED
from penstock.lab.bench.report import Figure, Report, Tell
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
from penstock.matching import Matcher
from penstock.mediation import MediatedMatcher


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the bench is."""

    catalogues: int
    subscriptions: int
    sizes: tuple[int, ...]
    """Bytes of documents, one of each size a catalogue."""
    larger: tuple[int, ...]
    """Bytes of more documents, of which only the memory is measured."""
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
"""Subscriptions with which there is little to match, and most that is done is to rewrite."""


def draw(setting: Setting) -> list[RewrittenDocument]:
    """The documents."""
    return [
        rewritten_document(one, CatalogueDocuments(one).document(size, SEED))
        for one in CATALOGUES[: setting.catalogues]
        for size in setting.sizes
    ]


def run(*, quick: bool, tell: Tell) -> Report:
    """Time and memory."""
    setting = QUICK if quick else FULL
    tell("bench mediation: generating")
    sent = draw(setting)
    plain = subscription_matcher(setting.subscriptions)
    mediated = MediatedMatcher(plain)
    tell("bench mediation: matching through mappings, and what is global already")
    matches = match_rewritten(plain, sent)
    assert match_through(mediated, sent) == matches
    times = timed(plain, sent, setting.repeats)
    few = timed(subscription_matcher(FEW), sent, setting.repeats)
    tell("bench mediation: memory")
    held = held_memory_shares(mediated, setting)
    largest = max(held, key=lambda each: each[1])
    shares = [share for _, share in held]
    size = sum(len(each.document) for each in sent)
    figures = (
        Figure("documents", len(sent), ""),
        Figure("size of a document", size / len(sent) / 1024, "KB"),
        Figure("matches a document", matches / len(sent), ""),
        Figure("NDDR", size / times["nddr"].median / 1e6, "MB/s"),
        Figure("without rewriting", size / times["plain"].median / 1e6, "MB/s"),
        Figure("spread of the repeats", times["nddr"].spread, "x"),
        Figure(f"{FEW} subscriptions: NDDR", size / few["nddr"].median / 1e6, "MB/s"),
        Figure(
            f"{FEW} subscriptions: NDDR against matching without rewriting",
            few["nddr"].median / few["plain"].median,
            "x",
        ),
        Figure("held memory, the median document", median(shares), "%"),
        Figure(f"held memory, the most: {largest[0]}", largest[1], "%"),
    )
    values = {
        "nddr": times["nddr"].median / times["plain"].median,
        "held": mean(shares),
    }
    return Report.on_this_machine("mediation", quick=quick, figures=figures, values=values)


def subscription_matcher(count: int) -> Matcher:
    """So many subscriptions to the global schema."""
    return index_of(subscriptions(count, SEED)).matcher()


def timed(matcher: Matcher, sent: Sequence[RewrittenDocument], repeats: int) -> dict[str, Timing]:
    """Both sides in turn."""
    mediated = MediatedMatcher(matcher)
    works = {
        "plain": partial(match_rewritten, matcher, sent),
        "nddr": partial(match_through, mediated, sent),
    }
    for work in works.values():
        work()  # the automaton grows once
    return interleaved(works, repeats=repeats)


def held_memory_shares(mediated: MediatedMatcher, setting: Setting) -> list[tuple[str, float]]:
    """What the rewriter held at once, in per cent of the document, with the catalogue's name."""
    found = []
    for one in CATALOGUES[: setting.catalogues]:
        source = CatalogueDocuments(one)
        for size in (*setting.sizes, *setting.larger):
            document = source.document(size, SEED)
            work = mediated.match(document, one.mapping).counters.work
            found.append((f"{one.name}, {size // 1000} KB", 100 * work.held_bytes / len(document)))
    return found
