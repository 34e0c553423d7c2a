"""Figures 4 to 11: the operations of a search, by length, number of queries and size of the DTD."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.xsync.document_types import Expressions, Population
from penstock.lab.xsync.engines import Found, PenstockEngine, XSyncEngine, dtd_of
from penstock.lab.xsync.scale import DEPTH_MAX, Scale

XSYNC, STRUCTURE, OURS, FIRST = (
    "XSync",
    "XSync without clients",
    "Penstock",
    "Penstock, first search",
)
LINES = (XSYNC, STRUCTURE, OURS, FIRST)
COLUMNS = (*LINES, "XSync found", "Penstock found", "XSync µs", "Penstock µs")

HOW = (
    "Mean operations of a search. XSync: index nodes visited, client identifiers read, path tokens"
    " compared; without clients: not the identifiers. Penstock: labels, trie nodes, posting lists"
    " and postings read; first search: nothing is cached."
)
HOW_UPDATED = (
    "Penstock is given one node that the update changes, with everything below it, and the DTD."
    " Microseconds are CPU time, the call from Python included."
)

ALL_LENGTHS = tuple(range(DEPTH_MAX + 1))
SHORT_LENGTHS = (3, 4, 5)
"""The lengths of queries in Figures 8 to 11."""


class Searches:
    """Both engines with the same clients, and random updates of these."""

    def __init__(self, population: Population) -> None:
        self._population = population
        self._xsync = XSyncEngine(population)
        self._penstock = PenstockEngine(population)
        self._by_length: dict[int, list[int]] = {}
        for client, labels in enumerate(population.labels):
            self._by_length.setdefault(len(labels), []).append(client)

    def cells(
        self,
        pairs: Sequence[tuple[int, int]],
        *,
        count: int,
        down_all: bool,
        chance: random.Random,
    ) -> tuple[Cell, ...]:
        """The mean cost of updates, each with one of the lengths of query and update."""
        possible = [pair for pair in pairs if self._by_length.get(pair[0])]
        paper: list[Found] = []
        ours: list[tuple[Found, int]] = []
        for _ in range(count if possible else 0):
            query_length, update_length = chance.choice(possible)
            client = chance.choice(self._by_length[query_length])
            update = self._population.update(client, update_length, chance)
            if update is None:
                continue
            text, labels = update
            paper.append(self._xsync.search(client, text, down_all=down_all))
            ours.append(self._penstock.search(labels))
        if not paper:
            return (None,) * len(COLUMNS)
        mean = statistics.fmean
        return (
            mean(each.operations for each in paper),
            mean(each.structural for each in paper),
            mean(each.operations for each, _ in ours),
            mean(first for _, first in ours),
            mean(len(each.clients) for each in paper),
            mean(len(each.clients) for each, _ in ours),
            mean(each.seconds for each in paper) * 1e6,
            mean(each.seconds for each, _ in ours) * 1e6,
        )


def by_length(scale: Scale, progress: Progress) -> Iterator[ResultTable]:
    """Reproduce Figures 4 to 7, by length of the update and of the query."""
    rows: dict[int, list[tuple[Cell, ...]]] = {figure: [] for figure in (4, 5, 6, 7)}
    dtd = dtd_of(100)
    for kind in Expressions:
        progress(f"lab xsync: Figures 4 to 7, {kind.value}, indexing {scale.queries:,} queries")
        searches = Searches(Population.draw(dtd, kind, scale.queries, ALL_LENGTHS, seed=4))
        for figure, of_figure in rows.items():
            progress(f"lab xsync: Figure {figure}, {kind.value}")
            chance = random.Random(f"{figure}/{kind.value}")
            for length in scale.lengths:
                others = range(DEPTH_MAX - length + 1)
                fixed_update = [(other, length) for other in others]
                fixed_query = [(length, other) for other in others]
                cells = searches.cells(
                    fixed_update if figure in {4, 5} else fixed_query,
                    count=scale.updates,
                    down_all=figure % 2 == 0,
                    chance=chance,
                )
                of_figure.append((kind.value, length, *cells))
    for figure, found in rows.items():
        by = "length of update" if figure in {4, 5} else "length of query"
        yield _table(figure, by, found, f"{scale.queries:,} queries, a DTD of 100 elements.")


def by_queries(scale: Scale, progress: Progress) -> Iterator[ResultTable]:
    """Reproduce Figures 8 and 9, by number of queries."""
    rows: dict[int, list[tuple[Cell, ...]]] = {8: [], 9: []}
    dtd = dtd_of(10)
    for kind in Expressions:
        for count in scale.query_counts:
            progress(f"lab xsync: Figures 8 and 9, {kind.value}, {count:,} queries")
            population = Population.draw(dtd, kind, count, SHORT_LENGTHS, seed=8)
            for figure, cells in _both(population, scale, (8, 9)):
                rows[figure].append((kind.value, count, *cells))
    for figure, found in rows.items():
        yield _table(figure, "queries", found, "A DTD of 10 elements, queries of 3 to 5 steps.")


def by_dtd(scale: Scale, progress: Progress) -> Iterator[ResultTable]:
    """Reproduce Figures 10 and 11, by size of the DTD."""
    rows: dict[int, list[tuple[Cell, ...]]] = {10: [], 11: []}
    for kind in Expressions:
        for size in scale.dtd_sizes:
            progress(f"lab xsync: Figures 10 and 11, {kind.value}, {size} elements")
            population = Population.draw(dtd_of(size), kind, scale.queries, SHORT_LENGTHS, seed=10)
            for figure, cells in _both(population, scale, (10, 11)):
                rows[figure].append((kind.value, size, *cells))
    for figure, found in rows.items():
        note = f"{scale.queries:,} queries of 3 to 5 steps."
        yield _table(figure, "elements of the DTD", found, note)


def _both(
    population: Population, scale: Scale, figures: tuple[int, int]
) -> Iterator[tuple[int, tuple[Cell, ...]]]:
    """The cells of an even figure, with DOWN-ALL, and of an odd one, with DOWN."""
    searches = Searches(population)
    pairs = [(query, update) for query in SHORT_LENGTHS for update in range(DEPTH_MAX - query + 1)]
    for figure in figures:
        chance = random.Random(f"{figure}/{population.kind.value}/{len(population.queries)}")
        cells = searches.cells(pairs, count=scale.updates, down_all=figure % 2 == 0, chance=chance)
        yield figure, cells


def _table(figure: int, by: str, rows: list[tuple[Cell, ...]], note: str) -> ResultTable:
    policy = "CLIENT-SEARCH-DOWN-ALL" if figure % 2 == 0 else "CLIENT-SEARCH-DOWN"
    return ResultTable(
        f"fig{figure}",
        f"Fig. {figure}: operations by {by}, {policy}",
        ("expressions", by, *COLUMNS),
        tuple(rows),
        (note, HOW, HOW_UPDATED),
        Chart("expressions", by, LINES, "operations", logarithmic=True, one_scale=True),
    )
