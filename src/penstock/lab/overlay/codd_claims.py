"""The claims of the CoDD paper about its figures, and whether they hold here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.overlay.overlay_runs import OverlayRun, Policy, SienaRun
from penstock.lab.overlay.xml_figures import XmlFigures

SIENA: Final = "Siena"
SIENA_PASSED_ON: Final = "Siena, clients served"
"""Siena, where documents for a broker's clients are not extraneous."""

REORGANISED: Final = (Policy.PAPER, Policy.OURS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What the claims are checked on."""

    base: Mapping[Policy, OverlayRun]
    """Runs of the default configuration."""

    siena: SienaRun
    top: int
    """Interior nodes that Figure 7 ranks."""

    by_fan_out: ResultTable
    by_size: ResultTable
    depth_by_size: ResultTable
    xml: XmlFigures


def check_claims(given: Claims) -> Iterator[tuple[Cell, ...]]:
    """For each claim: figure, claim, policy, what was measured, and whether it holds."""
    yield from _ranked(given)
    yield from _fan_outs(given)
    yield from _sizes(given)
    yield from _depths(given)
    yield from _over_time(given)
    yield from _xml(given)


def _ranked(given: Claims) -> Iterator[tuple[Cell, ...]]:
    tops = {policy: _mean(run.overheads[: given.top]) for policy, run in given.base.items()}
    for policy in REORGANISED:
        measured = tops[policy] / tops[Policy.NONE]
        claim = f"mean of the top {given.top} relative to no reorganisation: at most half"
        yield _claim("Fig. 7", claim, policy, measured, holds=measured <= 0.5)
    for name, brokers in (
        (SIENA, given.siena.overheads),
        (SIENA_PASSED_ON, given.siena.passed_on),
    ):
        for policy in REORGANISED:
            measured = _mean(given.base[policy].overheads[: len(brokers)]) / _mean(brokers)
            claim = f"as many nodes as there are brokers, relative to `{name}`: below 1"
            yield _claim("Fig. 8", claim, policy, measured, holds=measured < 1)


def _fan_outs(given: Claims) -> Iterator[tuple[Cell, ...]]:
    table = given.by_fan_out
    fan_outs = [_number(cell) for cell in table.column("fan-out")]
    widest = max(fan_outs)

    def at(line: str, fan_out: float) -> float:
        return _number(table.column(line)[fan_outs.index(fan_out)])

    for policy in REORGANISED:
        measured = at(policy, 4) / at(policy, 2)
        claim = "sharp drop: fan-out 4 relative to 2, at most 0.75"
        yield _claim("Fig. 9", claim, policy, measured, holds=measured <= 0.75)
        measured = abs(at(policy, widest) - at(policy, 4)) / abs(at(policy, 4) - at(policy, 2))
        claim = f"then flat: change from 4 to {widest:g} relative to that from 2 to 4, at most half"
        yield _claim("Fig. 9", claim, policy, measured, holds=measured <= 0.5)
    for line in (SIENA, SIENA_PASSED_ON):
        measured = at(line, widest) / at(line, 2)
        claim = f"Siena rises: fan-out {widest:g} relative to 2, above 1"
        yield _claim("Fig. 9", claim, line, measured, holds=measured > 1)


def _sizes(given: Claims) -> Iterator[tuple[Cell, ...]]:
    for name in ("fan-out 4", "fan-out 6"):
        without = _slope(given.by_size, name, Policy.NONE)
        for policy in REORGANISED:
            measured = _slope(given.by_size, name, policy) / without
            claim = f"slope by nodes relative to no reorganisation, {name}: below 1"
            # A slope that falls is lower, whatever the sign of the quotient.
            is_lower = _slope(given.by_size, name, policy) < without
            yield _claim("Fig. 10", claim, policy, measured, holds=is_lower)


def _depths(given: Claims) -> Iterator[tuple[Cell, ...]]:
    without = given.base[Policy.NONE]
    for policy in REORGANISED:
        run = given.base[policy]
        for weight, depths, plain in (
            ("received", run.received_depths, without.received_depths),
            ("delivered", run.depths, without.depths),
        ):
            measured = _mean(depths) / _mean(plain)
            claim = f"mean depth by documents {weight}, relative to no reorganisation: below 1"
            yield _claim("Fig. 11", claim, policy, measured, holds=measured < 1)
            measured = depths[0] / plain[0]
            claim = f"greatest depth by documents {weight}, relative to no reorganisation: below 1"
            yield _claim("Fig. 11", claim, policy, measured, holds=measured < 1)
    for policy in Policy:
        linear = _fit_error(given.depth_by_size, policy, float)
        measured = _fit_error(given.depth_by_size, policy, math.log) / max(1e-12, linear)
        is_linear = policy is Policy.NONE
        claim = "error of the logarithmic fit relative to the linear one: " + (
            "above 1" if is_linear else "below 1"
        )
        holds = measured > 1 if is_linear else measured < 1
        yield _claim("Fig. 12", claim, policy, measured, holds=holds)


def _over_time(given: Claims) -> Iterator[tuple[Cell, ...]]:
    for policy in REORGANISED:
        values = [value for _, value in given.base[policy].over_time]
        tenth = max(1, len(values) // 10)
        measured = _mean(values[-tenth:]) / _mean(values[:tenth])
        claim = "last tenth relative to the first: below 1"
        yield _claim("Fig. 15", claim, policy, measured, holds=measured < 1)
    for policy in REORGANISED:
        ratios = [move.ratio for move in given.base[policy].moves]
        measured = statistics.median(ratios[len(ratios) * 2 // 3 :] or [math.nan])
        claim = "median ratio of the last third of the moves: below 1"
        yield _claim("Fig. 16", claim, policy, measured, holds=measured < 1)


def _xml(given: Claims) -> Iterator[tuple[Cell, ...]]:
    for policy in REORGANISED:
        measured = given.xml.worst(policy)
        claim = "greatest overhead on XML data: under 10%"
        yield _claim("Fig. 14", claim, policy, measured, holds=measured < 0.1)
    measured = given.xml.relative()
    claim = "XML data: overhead relative to the paper's policy, at most 0.7 everywhere"
    yield _claim("beyond", claim, Policy.OURS, measured, holds=measured <= 0.7)
    base = given.base
    measured = base[Policy.OURS].system_overhead / base[Policy.PAPER].system_overhead
    claim = "buckets: overhead relative to the paper's policy, at most 0.7"
    yield _claim("beyond", claim, Policy.OURS, measured, holds=measured <= 0.7)


def _claim(
    figure: str, claim: str, policy: str, measured: float, *, holds: bool
) -> tuple[Cell, ...]:
    return figure, claim, str(policy), measured, "yes" if holds else "no"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _number(cell: Cell) -> float:
    assert isinstance(cell, int | float)
    return float(cell)


def _slope(table: ResultTable, name: str, policy: Policy) -> float:
    """The slope of the least-squares line of overhead by number of nodes."""
    column = table.columns.index(policy)
    points = [(_number(row[1]), _number(row[column])) for row in table.rows if row[0] == name]
    slope, _ = statistics.linear_regression([x for x, _ in points], [y for _, y in points])
    return slope


def _fit_error(table: ResultTable, policy: Policy, transform: Callable[[float], float]) -> float:
    """Squared error of the least-squares fit of depth by transformed number of nodes."""
    nodes = [transform(_number(cell)) for cell in table.column("nodes")]
    depths = [_number(cell) for cell in table.column(policy)]
    slope, intercept = statistics.linear_regression(nodes, depths)
    return sum((y - intercept - slope * x) ** 2 for x, y in zip(nodes, depths, strict=True))
