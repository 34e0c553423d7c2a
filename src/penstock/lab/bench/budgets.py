"""The performance budgets as data, and checks of measured values against them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """The side of the limit on which a value meets its budget."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


@dataclass(frozen=True, slots=True)
class Budget:
    """The limit of one measured value."""

    bench: str
    key: str
    what: str
    bound: Bound
    limit: float
    unit: str


BUDGETS: tuple[Budget, ...] = (
    Budget(
        "routing",
        "speedup_4",
        "chain of 4 routers, 10,000 subscriptions each: routing time without annotations against"
        " all annotations",
        Bound.AT_LEAST,
        2,
        "x",
    ),
    Budget("routing", "speedup_8", "the same, chain of 8 routers", Bound.AT_LEAST, 5, "x"),
    Budget(
        "routing",
        "not_read",
        "the same: documents that are not read to the end, from the second router on",
        Bound.AT_LEAST,
        80,
        "%",
    ),
    Budget(
        "routing",
        "header",
        "the same: bytes of annotations, relative to the documents",
        Bound.AT_MOST,
        5,
        "%",
    ),
    Budget(
        "overlay",
        "extraneous",
        "400 peers, XML data, with reorganisation: extraneous transfers, worst fan-out and data",
        Bound.AT_MOST,
        10,
        "%",
    ),
    Budget(
        "overlay",
        "extraneous_wide",
        "the same, fan-outs of 4 and more (an aim)",
        Bound.AT_MOST,
        5,
        "%",
    ),
    Budget(
        "overlay",
        "relative",
        "the same, all fan-outs: relative to the paper's policies",
        Bound.AT_MOST,
        0.7,
        "x",
    ),
    Budget(
        "reader", "speedup", "the reader: speedup over lxml building a tree", Bound.AT_LEAST, 3, "x"
    ),
    Budget(
        "reader",
        "latin1",
        "a document in ISO-8859-1, read or matched: throughput relative to UTF-8",
        Bound.AT_LEAST,
        0.5,
        "x",
    ),
    Budget(
        "reader",
        "schema_infer",
        "inferring a schema from documents: time relative to the reader",
        Bound.AT_MOST,
        3,
        "x",
    ),
    Budget(
        "paths",
        "sparse_warm",
        "1,000,000 subscriptions, few matches, warm: share of the reader's throughput",
        Bound.AT_LEAST,
        0.5,
        "x",
    ),
    Budget(
        "paths",
        "sparse_cold",
        "the same, cold: the first 1,000 documents",
        Bound.AT_LEAST,
        0.1,
        "x",
    ),
    Budget(
        "paths",
        "dense_match",
        "150,000 subscriptions, about 5,000 matches per document, warm: time to report a match",
        Bound.AT_MOST,
        2,
        "ns",
    ),
    Budget(
        "paths",
        "dense_ids",
        "the same: time per id in `Matches.ids`",
        Bound.AT_MOST,
        30,
        "ns",
    ),
    Budget(
        "paths",
        "dense_speedup",
        "the same: speedup over the YFilter-like engine on the same reader",
        Bound.AT_LEAST,
        100,
        "x",
    ),
    Budget(
        "paths",
        "growth",
        "from 1,000 to 1,000,000 subscriptions, same matches: time per document",
        Bound.AT_MOST,
        3,
        "x",
    ),
    Budget(
        "paths",
        "hard_speedup",
        "hard case, 1,000,000 subscriptions: speedup over the YFilter-like engine",
        Bound.AT_LEAST,
        1,
        "x",
    ),
    Budget(
        "paths",
        "hard_memory",
        "hard case: memory added by matching",
        Bound.AT_MOST,
        320,
        "MB",
    ),
    Budget(
        "paths",
        "deep_speedup",
        "deep linguistic trees: speedup over the YFilter-like engine",
        Bound.AT_LEAST,
        1,
        "x",
    ),
    Budget(
        "paths",
        "deep_memory",
        "deep linguistic trees: memory added by matching",
        Bound.AT_MOST,
        320,
        "MB",
    ),
    Budget("index", "build", "add_many, per subscription", Bound.AT_MOST, 10, "µs"),
    Budget("index", "saved", "the saved file, per subscription", Bound.AT_MOST, 250, "bytes"),
    Budget(
        "index",
        "change",
        "1,000 subscriptions added to 1,000,000, and the next document matched",
        Bound.AT_MOST,
        1,
        "s",
    ),
    Budget(
        "keywords",
        "words_reader",
        "100,000 keyword queries of documents' words, matches: share of the reader's throughput",
        Bound.AT_LEAST,
        1 / 3,
        "x",
    ),
    Budget(
        "keywords",
        "words_speedup",
        "the same: speedup over KEMB on the same reader",
        Bound.AT_LEAST,
        10,
        "x",
    ),
    Budget(
        "keywords",
        "paths_reader",
        "100,000 keyword queries of paths' terms, matches: share of the reader's throughput",
        Bound.AT_LEAST,
        1 / 3,
        "x",
    ),
    Budget(
        "keywords",
        "paths_speedup",
        "the same: speedup over KEMB on the same reader",
        Bound.AT_LEAST,
        10,
        "x",
    ),
    Budget(
        "keywords",
        "growth",
        "from 1,000 to 100,000 keyword queries, same matches: time per document",
        Bound.AT_MOST,
        3,
        "x",
    ),
    Budget(
        "keywords",
        "delivery",
        "3,150 answers in one document, as rows: time beyond 2 µs per answer, relative to matching",
        Bound.AT_MOST,
        3,
        "x",
    ),
    Budget(
        "mediation",
        "nddr",
        "40 local schemas, 4,000 subscriptions: time of NDDR relative to no rewriting",
        Bound.AT_MOST,
        1.3,
        "x",
    ),
    Budget(
        "mediation",
        "held",
        "the same: memory held by NDDR, mean share of the document",
        Bound.AT_MOST,
        5,
        "%",
    ),
    Budget(
        "relations",
        "contains",
        "`contains` of two parsed queries: speedup over the Python reference on the median pair",
        Bound.AT_LEAST,
        50,
        "x",
    ),
    Budget(
        "relations",
        "covers",
        "`covers` of two parsed queries: speedup over the Python reference on the median pair",
        Bound.AT_LEAST,
        50,
        "x",
    ),
    Budget(
        "relations",
        "overlaps",
        "`overlaps` of two parsed queries: speedup over the Python reference on the median pair",
        Bound.AT_LEAST,
        50,
        "x",
    ),
    Budget(
        "relations",
        "generalise",
        "`generalise` of two parsed queries: speedup over the Python reference on the median pair",
        Bound.AT_LEAST,
        50,
        "x",
    ),
    Budget(
        "relations",
        "containers",
        "100,000 subscriptions: `SubscriptionIndex.containers`, median query",
        Bound.AT_MOST,
        0.5,
        "ms",
    ),
    Budget(
        "relations",
        "contained",
        "100,000 subscriptions: `SubscriptionIndex.contained`, median query",
        Bound.AT_MOST,
        0.5,
        "ms",
    ),
    Budget(
        "sync",
        "growth",
        "from 1,000 to 1,000,000 subscriptions, same results: operations of a search for those"
        " affected",
        Bound.AT_MOST,
        2,
        "x",
    ),
    Budget(
        "sync",
        "speedup",
        "1,000,000 subscriptions: speedup of a search over testing each with the native relation",
        Bound.AT_LEAST,
        1_000,
        "x",
    ),
    Budget(
        "sync",
        "stream",
        "Spark, 1,000 documents: updates a second on two cores relative to one",
        Bound.AT_LEAST,
        1.6,
        "x",
    ),
    Budget("results", "ids", "`Matches.ids`, per id", Bound.AT_MOST, 30, "ns"),
    Budget(
        "mediation",
        "registrars",
        "15 registrars' schemas, 1,000 subscriptions: time of NDDR relative to no rewriting",
        Bound.AT_MOST,
        1.3,
        "x",
    ),
    Budget(
        "hostile",
        "slowest",
        "hostile documents and up to 10,000 subscriptions: throughput of the slowest case",
        Bound.AT_LEAST,
        0.1,
        "MB/s",
    ),
    *(
        Budget(
            "pipeline",
            f"subscriptions_{count}",
            f"Spark, {count:,} subscriptions: time relative to native matching plus row transfer",
            Bound.AT_MOST,
            1.25,
            "x",
        )
        for count in (1_000, 100_000, 1_000_000)
    ),
    Budget(
        "mailbox",
        "open_seconds",
        "opening 100 scattered documents among 205,000, in a new process",
        Bound.AT_MOST,
        0.2,
        "s",
    ),
    Budget(
        "mailbox",
        "open_memory",
        "the same: memory of the process, its libraries included",
        Bound.AT_MOST,
        200,
        "MB",
    ),
    Budget(
        "delivery",
        "latency_p50",
        "200 documents per second, one a call: half of the documents are committed within",
        Bound.AT_MOST,
        2,
        "s",
    ),
    Budget("delivery", "latency_p99", "the same: 99 of 100 documents", Bound.AT_MOST, 5, "s"),
    Budget(
        "delivery",
        "latency_growth",
        "the same: median of the last minute against the first",
        Bound.AT_MOST,
        1.2,
        "x",
    ),
    Budget(
        "delivery",
        "published_share",
        "the same: documents published, as a share of those asked for",
        Bound.AT_LEAST,
        0.98,
        "x",
    ),
    Budget(
        "delivery",
        "throughput",
        "100,000 subscriptions, 15 deliveries per document: publish to committed mailboxes,"
        " share of the throughput of match_documents",
        Bound.AT_LEAST,
        0.5,
        "x",
    ),
)
"""All budgets.

The memory budgets allow the default limit of the run-time cache, 256 MB per process, and a quarter
more for other allocations of the process.
"""


@dataclass(frozen=True, slots=True)
class Check:
    """A budget and the value measured for it."""

    budget: Budget
    value: float

    @property
    def met(self) -> bool:
        """Whether the value is within the limit."""
        if self.budget.bound is Bound.AT_LEAST:
            return self.value >= self.budget.limit
        return self.value <= self.budget.limit

    @property
    def shortfall(self) -> float:
        """The factor by which the limit is missed; at most 1 if it is met."""
        if self.budget.bound is Bound.AT_MOST:
            return self.value / self.budget.limit
        return self.budget.limit / self.value if self.value > 0 else float("inf")


def check_all(bench: str, values: Mapping[str, float]) -> tuple[Check, ...]:
    """Check all budgets of a benchmark against ``values``, which must have exactly their keys."""
    budgets = {budget.key: budget for budget in BUDGETS if budget.bench == bench}
    assert budgets.keys() == values.keys(), (budgets.keys(), values.keys())
    return tuple(Check(budget, values[key]) for key, budget in budgets.items())
