"""The report of a benchmark: figures, budget checks, and the files it is written to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.lab.bench.budgets import Check, check_all
from penstock.lab.bench.machine_description import Machine, this_machine

Progress = Callable[[str], None]
"""Called with a line that describes the current stage."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number with its description and unit."""

    what: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one benchmark."""

    bench: str
    quick: bool
    machine: Machine
    figures: tuple[Figure, ...]
    checks: tuple[Check, ...]

    @classmethod
    def on_this_machine(
        cls, bench: str, *, quick: bool, figures: Iterable[Figure], values: Mapping[str, float]
    ) -> Report:
        """A report of this machine, with the values checked against their budgets."""
        return cls(bench, quick, this_machine(), tuple(figures), check_all(bench, values))

    @property
    def met(self) -> bool:
        """Whether every budget is met."""
        return all(check.met for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "bench": self.bench,
            "quick": self.quick,
            "machine": asdict(self.machine),
            "met": self.met,
            "checks": [
                {
                    "key": check.budget.key,
                    "what": check.budget.what,
                    "value": check.value,
                    "bound": check.budget.bound,
                    "limit": check.budget.limit,
                    "unit": check.budget.unit,
                    "met": check.met,
                    "shortfall": check.shortfall,
                }
                for check in self.checks
            ],
            "figures": [asdict(figure) for figure in self.figures],
        }

    def lines(self) -> Iterator[str]:
        """The report as lines of plain text."""
        yield f"penstock bench {self.bench}{' --quick' if self.quick else ''}"
        yield str(self.machine)
        yield ""
        for check in self.checks:
            yield f"{check.budget.what}: {check_text(check)}"
        yield ""
        for figure in self.figures:
            yield f"{figure.what}: {format_number(figure.value)} {figure.unit}"

    def write(self, folder: Path) -> None:
        """Write ``NAME.txt`` and ``NAME.json`` into the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join(self.lines()) + "\n"
        (folder / f"{self.bench}.txt").write_text(text, encoding="utf-8")
        data = json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"
        (folder / f"{self.bench}.json").write_text(data, encoding="utf-8")


@dataclass(slots=True)
class BenchResults:
    """Collects the results of the parts of a benchmark."""

    values: dict[str, float] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)

    def figure(self, what: str, value: float, unit: str) -> None:
        """Add a figure that has no budget."""
        self.figures.append(Figure(what, value, unit))

    def report(self, bench: str, *, quick: bool) -> Report:
        """The report, with all budgets checked."""
        return Report.on_this_machine(bench, quick=quick, figures=self.figures, values=self.values)


def check_text(check: Check) -> str:
    """``4.1 x (at least 3 x): met``, or the factor by which the limit is missed."""
    budget = check.budget
    verdict = "met" if check.met else f"MISSED by a factor of {check.shortfall:.2f}"
    return (
        f"{format_number(check.value)} {budget.unit}"
        f" ({budget.bound} {format_number(budget.limit)} {budget.unit}): {verdict}"
    )


def format_number(value: float) -> str:
    """The number with three significant digits and thousands separators."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
