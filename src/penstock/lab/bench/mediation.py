"""``bench mediation``: matching through a mapping, against matching what needs none.

The documents are course catalogues of all forty schemas. NDDR matches them through their mappings;
without rewriting the same subscriptions are matched on the same content, already under the global
schema. Throughput is that of one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from penstock.documents import read_events
from penstock.lab.bench.budgets import check_all
from penstock.lab.bench.machine import this_machine
from penstock.lab.bench.measure import interleaved
from penstock.lab.bench.report import Figure, Report, Tell
from penstock.lab.bench.workloads import SEED
from penstock.lab.catalogues import CATALOGUES, CatalogueDocuments
from penstock.lab.catalogues.subscriptions import subscriptions
from penstock.matching import Matcher, SubscriptionIndex
from penstock.mediation import Mapping, MediatedMatcher, rewrite


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the bench is."""

    catalogues: int
    subscriptions: int
    sizes: tuple[int, ...]
    """Bytes of documents, one of each size a catalogue."""
    repeats: int


FULL = Setting(
    catalogues=len(CATALOGUES), subscriptions=4_000, sizes=(10_000, 20_000, 40_000), repeats=9
)
QUICK = Setting(catalogues=4, subscriptions=100, sizes=(2_000,), repeats=2)


@dataclass(frozen=True, slots=True)
class Sent:
    """A document with its mapping, and what it says under the global schema."""

    catalogue: str
    document: bytes
    mapping: Mapping
    rewritten: bytes


def draw(setting: Setting) -> list[Sent]:
    """The documents."""
    found = []
    for one in CATALOGUES[: setting.catalogues]:
        source = CatalogueDocuments(one)
        for size in setting.sizes:
            document = source.document(size, SEED)
            rewritten = rewrite(one.mapping, read_events(document)).to_xml().encode()
            found.append(Sent(one.name, document, one.mapping, rewritten))
    return found


def run(*, quick: bool, tell: Tell) -> Report:
    """Time and memory."""
    setting = QUICK if quick else FULL
    tell("bench mediation: generating")
    sent = draw(setting)
    index = SubscriptionIndex()
    queries = subscriptions(setting.subscriptions, SEED)
    errors = index.add_many([f"s{number}" for number in range(len(queries))], queries)
    assert not errors, next(iter(errors.values()))
    plain = index.matcher()
    mediated = MediatedMatcher(index.matcher(), way="nddr")
    tell("bench mediation: matching through mappings, and what is global already")
    held = [held_share(mediated, each) for each in sent]
    matches = match_all(plain, sent)
    assert match_through(mediated, sent) == matches
    times = interleaved(
        {
            "plain": lambda: match_all(plain, sent),
            "nddr": lambda: match_through(mediated, sent),
        },
        repeats=setting.repeats,
    )
    size = sum(len(each.document) for each in sent)
    largest = max(range(len(sent)), key=held.__getitem__)
    figures = (
        Figure("documents", len(sent), ""),
        Figure("size of a document", size / len(sent) / 1024, "KB"),
        Figure("subscriptions", len(queries), ""),
        Figure("matches a document", matches / len(sent), ""),
        Figure("NDDR", size / times["nddr"].median / 1e6, "MB/s"),
        Figure("without rewriting", size / times["plain"].median / 1e6, "MB/s"),
        Figure(f"held memory, the most: {sent[largest].catalogue}", 100 * held[largest], "%"),
        Figure("spread of the repeats", times["nddr"].spread, "x"),
    )
    values = {
        "nddr": times["nddr"].median / times["plain"].median,
        "held": 100 * mean(held),
    }
    return Report(
        bench="mediation",
        quick=quick,
        machine=this_machine(),
        figures=figures,
        checks=check_all("mediation", values),
    )


def held_share(mediated: MediatedMatcher, sent: Sent) -> float:
    """What the rewriter held at once, as a share of the document."""
    found = mediated.match(sent.document, sent.mapping)
    return found.counters.work.held_bytes / len(sent.document)


def match_all(matcher: Matcher, sent: Sequence[Sent]) -> int:
    """Matches what is global already; gives the number of matches."""
    return sum(len(matcher.match(each.rewritten)) for each in sent)


def match_through(mediated: MediatedMatcher, sent: Sequence[Sent]) -> int:
    """Matches every document through its mapping; gives the number of matches."""
    return sum(len(mediated.match(each.document, each.mapping)) for each in sent)
