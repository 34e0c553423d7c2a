"""How many unmatched documents an aggregated set forwards, by its bound.

Members are XPath or keyword subscriptions of generated news. Precision is estimated on a synopsis
of some documents and measured on others. Merging near neighbours is compared with merging random
pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from time import process_time

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ExperimentResults, ResultTable
from penstock.lab.workload import KEYWORD_WORKLOADS, workload
from penstock.routing import (
    AggregatedSet,
    MergeForest,
    Pattern,
    SampledDocuments,
    Synopsis,
    measure_precision,
)
from penstock.routing.limits import MERGE_CANDIDATES_MAX


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers of members, documents and bounds."""

    members: int
    drawn: int
    """Queries of which the members are a sample."""
    synopsis_documents: int
    held_back_documents: int
    bound_percents: tuple[int, ...]
    """Bounds as percentages of the members' pattern nodes."""


FULL = Scale(500, 100_000, 128, 300, (100, 80, 60, 40, 30, 20, 15, 10, 5))
QUICK = Scale(60, 5_000, 24, 60, (100, 60, 30, 10))


@dataclass(frozen=True, slots=True)
class MemberSet:
    """Members of one kind, the documents of a synopsis, and documents held back from it."""

    name: str
    members: dict[str, Pattern]
    sample: SampledDocuments
    held_back: SampledDocuments


class RandomNeighbours:
    """Proposes random patterns for a merge: the baseline."""

    def __init__(self, seed: int = 1) -> None:
        self._random = Random(seed)
        self._patterns: dict[Pattern, None] = {}

    def add(self, pattern: Pattern) -> None:
        """Add a pattern."""
        self._patterns[pattern] = None

    def discard(self, pattern: Pattern) -> None:
        """Remove a pattern, if present."""
        self._patterns.pop(pattern, None)

    def nearest(self, pattern: Pattern) -> list[Pattern]:
        """Random patterns other than this one."""
        others = [each for each in self._patterns if each != pattern]
        return self._random.sample(others, min(MERGE_CANDIDATES_MAX, len(others)))


PAIRS: dict[str, Callable[[], MergeForest]] = {
    "near pairs": MergeForest,
    "random pairs": partial(MergeForest, neighbours=RandomNeighbours),
}
"""Which pairs are candidates for a merge."""


def run(*, quick: bool, progress: Progress) -> ExperimentResults:
    """Measure false forwards and size by bound."""
    scale = QUICK if quick else FULL
    return ExperimentResults("aggregation", quick, this_machine(), (by_bound(scale, progress),))


def by_bound(scale: Scale, progress: Progress) -> ResultTable:
    """False forwards by bound, for near and random pairs."""
    rows = [
        _row(given, percent, progress)
        for given in (path_members(scale), keyword_members(scale))
        for percent in scale.bound_percents
    ]
    return ResultTable(
        "bound",
        "False forwards of an aggregated set, by bound",
        (
            "members",
            "bound %",
            "bound",
            "nodes",
            "patterns",
            "exact",
            "wanted %",
            *PAIRS,
            "seconds",
        ),
        tuple(rows),
        (
            f"{scale.members} members of each kind; the bound is a share of their pattern nodes.",
            "False forwards: percentage of forwarded documents that no member matches.",
            f"Estimated on {scale.synopsis_documents} documents, measured on"
            f" {scale.held_back_documents} others.",
            "Nodes, patterns, exact patterns and CPU seconds are those of near pairs.",
        ),
        Chart("members", "bound %", tuple(PAIRS), "false forwards (%)", one_scale=True),
    )


def path_members(scale: Scale) -> MemberSet:
    """Selective XPath subscriptions."""
    news = workload("paths-sparse")
    queries = Random(1).sample(news.queries(scale.drawn), scale.members)
    members = {f"s{number}": Pattern.of_path(query) for number, query in enumerate(queries)}
    documents = news.documents(scale.synopsis_documents + scale.held_back_documents, seed=5)
    return _member_set("paths", members, list(documents), scale)


def keyword_members(scale: Scale) -> MemberSet:
    """Keyword subscriptions with the words of documents."""
    news = KEYWORD_WORKLOADS["keywords-words"]
    queries = Random(1).sample(news.queries(4 * scale.members), scale.members)
    members = {f"s{number}": Pattern.of_keywords(query) for number, query in enumerate(queries)}
    documents = news.documents(scale.synopsis_documents + scale.held_back_documents, seed=5)
    return _member_set("keywords", members, list(documents), scale)


def _member_set(
    name: str, members: dict[str, Pattern], documents: list[bytes], scale: Scale
) -> MemberSet:
    synopsis = Synopsis()
    synopsis.observe(documents[: scale.synopsis_documents])
    held_back = SampledDocuments.of(documents[scale.synopsis_documents :])
    return MemberSet(name, members, synopsis.documents(), held_back)


def _row(given: MemberSet, percent: int, progress: Progress) -> tuple[Cell, ...]:
    total = sum(pattern.size for pattern in given.members.values())
    bound = max(1, total * percent // 100)
    false_forwards: list[Cell] = []
    figures: list[Cell] = []
    seconds = 0.0
    for name, new_forest in PAIRS.items():
        progress(f"lab aggregation: {given.name}, bound {percent}%, {name}")
        start = process_time()
        built = AggregatedSet.build(
            given.members,
            bound=bound,
            sample=given.sample,
            refine=False,
            new_forest=new_forest,
        )
        elapsed = process_time() - start
        measured = measure_precision(built.roots, given.members.values(), given.held_back)
        false_forwards.append(100 * measured.false_forwards)
        if not figures:
            exact = sum(map(built.is_exact, built.roots))
            wanted = 100 * measured.wanted / measured.documents
            figures = [built.size, len(built.roots), exact, wanted]

            seconds = elapsed
    return (given.name, percent, bound, *figures, *false_forwards, seconds)
