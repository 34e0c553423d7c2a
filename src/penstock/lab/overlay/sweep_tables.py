"""The tables of a sweep: means over seeds, with confidence intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.overlay.codd_claims import REORGANISED
from penstock.lab.overlay.overlay_runs import Policy
from penstock.lab.overlay.seed_estimates import Estimate, estimate
from penstock.lab.overlay.sweep_rows import BUCKETS, SIENA_LINES, SweepResult, SweepRow

_Key = tuple[str, int, str]
"""Data, fan-out, policy or line of the baseline."""


class SweepTables:
    """What was measured in all rows of a sweep, by data, fan-out and policy.

    Parameters
    ----------
    rows, results
        The rows, and what was measured in each.
    note
        The sizes of the sweep, for each table.
    """

    def __init__(self, rows: Sequence[SweepRow], results: Sequence[SweepResult], note: str) -> None:
        self._note = note
        self._found: defaultdict[_Key, list[SweepResult]] = defaultdict(list)
        """In the order of the seeds."""
        pairs = zip(rows, results, strict=True)
        for row, result in sorted(pairs, key=lambda pair: pair[0].seed):
            self._found[row.data, row.fan_out, row.policy].append(result)
        self._places = sorted(
            {(row.data, row.fan_out): None for row in rows}, key=lambda each: each[0] != BUCKETS
        )

    def _overheads(self, data: str, fan_out: int, policy: str) -> list[float]:
        return [result.overhead for result in self._found[data, fan_out, policy]]

    def by_fan_out(self) -> ResultTable:
        """Overhead by data, fan-out and policy, beside the baseline."""
        lines = (*map(str, Policy), *SIENA_LINES)
        rows = [
            (
                *place,
                *(
                    cell
                    for line in lines
                    for cell in _cells(estimate(self._overheads(*place, line)))
                ),
            )
            for place in self._places
        ]
        columns = [column for line in lines for column in (line, f"{line} ±")]
        return ResultTable(
            "fan-out",
            "System overhead by fan-out, mean over seeds and half the 95% confidence interval",
            ("data", "fan-out", *columns),
            tuple(rows),
            (self._note, "Siena: brokers only, by both definitions of their overhead."),
            Chart("data", "fan-out", lines, "overhead", one_scale=True),
        )

    def measures(self) -> ResultTable:
        """Everything that was measured of the overlay."""
        measures: dict[str, Callable[[SweepResult], float]] = {
            "overhead": lambda result: result.overhead,
            "late overhead": lambda result: result.late_overhead,
            "depth": lambda result: result.depth,
            "moves": lambda result: float(result.moves),
            "messages": lambda result: float(result.messages),
        }
        rows: list[tuple[Cell, ...]] = []
        for data, fan_out in self._places:
            for policy in Policy:
                results = self._found[data, fan_out, policy]
                cells = (
                    cell
                    for measure in measures.values()
                    for cell in _cells(estimate([measure(result) for result in results]))
                )
                rows.append((data, fan_out, str(policy), *cells))
        columns = [column for name in measures for column in (name, f"{name} ±")]
        return ResultTable(
            "measures",
            "Overhead, depth and moves by fan-out and policy, with 95% confidence intervals",
            ("data", "fan-out", "policy", *columns),
            tuple(rows),
            (
                self._note,
                "Late: the second half of the documents. Depth: mean over nodes of the average"
                " depth, weighted by the documents received. Messages of all kinds.",
            ),
        )

    def claims(self) -> ResultTable:
        """Claims that need no other runs than those of the sweep."""
        return ResultTable(
            "claims",
            "Claims about single runs, over seeds",
            ("figure", "claim", "data", "fan-out", "policy", "measured", "±", "holds"),
            tuple(self._claims()),
            (
                self._note,
                "Measured for each seed, then the mean; it holds or fails if the 95% confidence"
                " interval is on one side of the bound, and is open otherwise.",
            ),
        )

    def _claims(self) -> Iterator[tuple[Cell, ...]]:
        for data, fan_out in self._places:
            plain = self._found[data, fan_out, Policy.NONE]
            for policy in REORGANISED:
                results = self._found[data, fan_out, policy]
                for line in SIENA_LINES:
                    ratios = _ratios(
                        self._overheads(data, fan_out, policy),
                        self._overheads(data, fan_out, line),
                    )
                    claim = f"system overhead relative to `{line}`: below 1"
                    yield _claim("Fig. 8", claim, (data, fan_out, policy), ratios, bound=1.0)
                if (data, 2) in self._places and fan_out == 4:
                    ratios = _ratios(
                        self._overheads(data, 4, policy), self._overheads(data, 2, policy)
                    )
                    claim = "fan-out 4 relative to 2: at most 0.75"
                    yield _claim("Fig. 9", claim, (data, fan_out, policy), ratios, bound=0.75)
                depths = _ratios(
                    [result.depth for result in results], [result.depth for result in plain]
                )
                claim = "mean depth relative to no reorganisation: below 1"
                yield _claim("Fig. 11", claim, (data, fan_out, policy), depths, bound=1.0)
                if data != BUCKETS:
                    overheads = self._overheads(data, fan_out, policy)
                    claim = "overhead on XML data: under 0.1"
                    yield _claim("Fig. 14", claim, (data, fan_out, policy), overheads, bound=0.1)
            ratios = _ratios(
                self._overheads(data, fan_out, Policy.OURS),
                self._overheads(data, fan_out, Policy.PAPER),
            )
            claim = "overhead relative to the paper's policy: at most 0.7"
            yield _claim("beyond", claim, (data, fan_out, Policy.OURS), ratios, bound=0.7)


def _cells(found: Estimate) -> tuple[Cell, Cell]:
    return found.mean, found.half_width if math.isfinite(found.half_width) else None


def _ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other if other else math.inf for one, other in zip(values, others, strict=True)]


def _claim(
    figure: str,
    claim: str,
    where: _Key,
    values: Sequence[float],
    *,
    bound: float,
) -> tuple[Cell, ...]:
    found = estimate(values)
    holds = "open"
    if found.mean + found.half_width <= bound:
        holds = "yes"
    elif found.mean - found.half_width > bound:
        holds = "no"
    data, fan_out, policy = where
    return figure, claim, data, fan_out, str(policy), *_cells(found), holds
