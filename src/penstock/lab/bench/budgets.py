"""The budgets, as data: what has to hold, and what a run found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Bound(StrEnum):
    """On which side of its limit a value has to be."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


@dataclass(frozen=True, slots=True)
class Budget:
    """One promise."""

    bench: str
    key: str
    what: str
    bound: Bound
    limit: float
    unit: str


BUDGETS: tuple[Budget, ...] = (
    Budget("reader", "speedup", "the reader against lxml building a tree", Bound.AT_LEAST, 3, "x"),
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
        "150,000 subscriptions, about 5,000 matches a document, warm: what a match adds",
        Bound.AT_MOST,
        2,
        "ns",
    ),
    Budget(
        "paths",
        "dense_speedup",
        "the same, against the YFilter-like engine on the same reader",
        Bound.AT_LEAST,
        100,
        "x",
    ),
    Budget(
        "paths",
        "growth",
        "from 1,000 to 1,000,000 subscriptions, same matches: time a document",
        Bound.AT_MOST,
        3,
        "x",
    ),
    Budget(
        "paths",
        "hard_speedup",
        "hard case, 1,000,000 subscriptions: against the YFilter-like engine",
        Bound.AT_LEAST,
        1,
        "x",
    ),
    Budget(
        "paths",
        "hard_memory",
        "hard case: memory that matching adds to the index",
        Bound.AT_MOST,
        320,
        "MB",
    ),
    Budget(
        "paths",
        "deep_speedup",
        "deep linguistic trees: against the YFilter-like engine",
        Bound.AT_LEAST,
        1,
        "x",
    ),
    Budget(
        "paths",
        "deep_memory",
        "deep linguistic trees: memory that matching adds to the index",
        Bound.AT_MOST,
        320,
        "MB",
    ),
    Budget("index", "build", "add_many, a subscription", Bound.AT_MOST, 10, "µs"),
    Budget("index", "saved", "the saved file, a subscription", Bound.AT_MOST, 250, "bytes"),
    Budget(
        "index",
        "change",
        "1,000 added to 1,000,000, and the next document matched",
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
        "the same, against KEMB on the same reader",
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
        "the same, against KEMB on the same reader",
        Bound.AT_LEAST,
        10,
        "x",
    ),
    Budget(
        "keywords",
        "growth",
        "from 1,000 to 100,000 keyword queries, same matches: time a document",
        Bound.AT_MOST,
        3,
        "x",
    ),
    Budget(
        "mediation",
        "nddr",
        "40 local schemas, 4,000 subscriptions: NDDR against the same match without rewriting",
        Bound.AT_MOST,
        1.3,
        "x",
    ),
    Budget(
        "mediation",
        "held",
        "the same: memory that NDDR holds, of the document, on average",
        Bound.AT_MOST,
        5,
        "%",
    ),
    *(
        Budget(
            "pipeline",
            f"subscriptions_{count}",
            f"Spark, {count:,} subscriptions: against native matching and rows to Python and back",
            Bound.AT_MOST,
            1.25,
            "x",
        )
        for count in (1_000, 100_000, 1_000_000)
    ),
)
"""Every budget of this part of the system.

The memory budgets are the run-time cache's default bound of 256 MB a process, and a quarter for
what the process's size shows beside it.
"""


@dataclass(frozen=True, slots=True)
class Check:
    """A budget and what was measured against it."""

    budget: Budget
    value: float

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of the limit."""
        if self.budget.bound is Bound.AT_LEAST:
            return self.value >= self.budget.limit
        return self.value <= self.budget.limit

    @property
    def shortfall(self) -> float:
        """By which factor the limit is missed; 1 or less where it is met."""
        if self.budget.bound is Bound.AT_MOST:
            return self.value / self.budget.limit
        return self.budget.limit / self.value if self.value > 0 else float("inf")


def check_all(bench: str, values: Mapping[str, float]) -> tuple[Check, ...]:
    """Checks every budget of a bench; each needs its value, and each value its budget."""
    budgets = {budget.key: budget for budget in BUDGETS if budget.bench == bench}
    assert budgets.keys() == values.keys(), (budgets.keys(), values.keys())
    return tuple(Check(budget, values[key]) for key, budget in budgets.items())
