"""The paper's claims about its figures, and whether they hold."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.xsync.document_types import Expressions
from penstock.lab.xsync.search_cost import OURS, STRUCTURE, XSYNC

Row = tuple[Cell, ...]

SIMILAR = 0.8
"""Correlation of the logarithms from which on two curves count as similar."""

POINTS_MIN = 3
"""Points of a curve that has a shape."""

KINDS = tuple(kind.value for kind in Expressions)


def claims(figures: Sequence[ResultTable]) -> ResultTable:
    """Each claim with the measured values that decide it, by kind of expression."""
    tables = {table.key: table for table in figures}
    rows: list[Row] = []
    for kind in KINDS:
        rows += _claims_of(tables, kind)
    return ResultTable(
        "claims",
        "The paper's claims, and what was measured",
        ("claim", "expressions", "measured", "expected", "holds"),
        tuple(rows),
        (
            "Growth by queries: from the first count of 1,000 or more to the last one; logarithmic"
            " growth is at most the ratio of the logarithms. Similar curves: correlation of the"
            " logarithms of the operations, over the lengths.",
        ),
    )


def _claims_of(tables: dict[str, ResultTable], kind: str) -> Iterator[Row]:
    down_all, down = (_series(tables[key], kind, XSYNC) for key in ("fig4", "fig5"))
    longest = int(max((at for at in down if at in down_all), default=0))
    if longest:
        slope = _slope(down_all)
        holds = _verdict(slope is not None and slope <= 2)
        yield "Fig. 4: at most quadratic in the length of the update", kind, slope, "<= 2", holds
        share = down[longest] / down_all[longest]
        holds = _verdict(share < 0.5)
        claim = f"Fig. 5: at length {longest}, the update's path saves most of Fig. 4's operations"
        yield claim, kind, share, "< 0.5", holds
    yield from _shape_claims(tables, kind)
    for figure in ("fig8", "fig9"):
        for what, name in (
            (XSYNC, "XSync"),
            (STRUCTURE, "XSync without clients"),
            (OURS, "Penstock"),
        ):
            series = _series(tables[figure], kind, what)
            series.pop(1, None)
            begin = min((at for at in series if at >= 1_000), default=min(series))
            end = max(series)
            growth = series[end] / series[begin]
            limit = math.log(end) / math.log(begin) if end > begin else 1.0
            claim = f"Fig. {figure[3:]}: logarithmic in the number of queries ({name})"
            yield claim, kind, growth, f"<= {limit:.2f}", _verdict(growth <= limit)
    for figure in ("fig10", "fig11"):
        series = _series(tables[figure], kind, XSYNC)
        small, large = series[min(series)], series[max(series)]
        claim = f"Fig. {figure[3:]}: a larger DTD costs less"
        yield claim, kind, large / small, "< 1", _verdict(large < small)
    if kind == Expressions.WILDCARD.value:
        for figure in ("fig8", "fig9", "fig10", "fig11"):
            own = _series(tables[figure], kind, XSYNC)
            simple = _series(tables[figure], Expressions.SIMPLE.value, XSYNC)
            ratio = own[max(own)] / simple[max(simple)]
            claim = f"Fig. {figure[3:]}: a wildcard costs only slightly more"
            yield claim, kind, ratio, "<= 1.5", _verdict(ratio <= 1.5)


def _shape_claims(tables: dict[str, ResultTable], kind: str) -> Iterator[Row]:
    """Figs. 4 and 5 by length of the update, Figs. 6 and 7 by length of the query."""
    by = {number: _series(tables[f"fig{number}"], kind, XSYNC) for number in (4, 5, 6, 7)}
    similar, unlike = correlation(by[5], by[7]), correlation(by[4], by[6])
    if similar is not None:
        claim = "Figs. 5 and 7: similar curves"
        yield claim, kind, similar, f">= {SIMILAR}", _verdict(similar >= SIMILAR)
    if unlike is not None:
        claim = "Figs. 4 and 6: no similar curves"
        yield claim, kind, unlike, f"< {SIMILAR}", _verdict(unlike < SIMILAR)
    if kind == Expressions.WILDCARD.value:
        slope = _slope(by[7])
        holds = _verdict(slope is not None and slope < 0)
        yield "Fig. 7: a shorter query costs more", kind, slope, "< 0", holds


def _series(table: ResultTable, kind: str, line: str) -> dict[float, float]:
    """The values of a line by the horizontal axis."""
    x, y = table.columns[1], table.columns.index(line)
    at = table.columns.index(x)
    pairs = [(row[at], row[y]) for row in table.rows if row[0] == kind]
    return {
        float(where): float(cost)
        for where, cost in pairs
        if isinstance(where, int | float) and isinstance(cost, int | float)
    }


def _slope(series: dict[float, float]) -> float | None:
    """The exponent of the growth, by least squares of the logarithms."""
    points = [(math.log(at), math.log(cost)) for at, cost in series.items() if at and cost]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def correlation(first: dict[float, float], second: dict[float, float]) -> float | None:
    """Of the logarithms of two curves; ``None`` if they have fewer than three points in common, or
    one is constant."""
    common = [at for at in first if at in second and first[at] > 0 and second[at] > 0]
    if len(common) < POINTS_MIN:
        return None
    curves = [[math.log(curve[at]) for at in common] for curve in (first, second)]
    if any(max(curve) == min(curve) for curve in curves):
        return None
    return statistics.correlation(*curves)


def _verdict(holds: bool) -> str:
    return "yes" if holds else "no"
