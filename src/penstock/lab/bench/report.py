"""What a bench found: figures, checks, and the files they are written to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.lab.bench.budgets import Check, check_all
from penstock.lab.bench.machine_description import Machine, this_machine

Tell = Callable[[str], None]
"""Called with what a bench is doing, for whoever waits."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, with the words to read it by."""

    what: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one bench."""

    bench: str
    quick: bool
    machine: Machine
    figures: tuple[Figure, ...]
    checks: tuple[Check, ...]

    @classmethod
    def on_this_machine(
        cls, bench: str, *, quick: bool, figures: Iterable[Figure], values: Mapping[str, float]
    ) -> Report:
        """What a bench found on this machine, its values held to their budgets."""
        return cls(bench, quick, this_machine(), tuple(figures), check_all(bench, values))

    @property
    def met(self) -> bool:
        """Whether every budget is."""
        return all(check.met for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON shows it."""
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
        """The report as plain text, for files."""
        yield f"penstock bench {self.bench}{' --quick' if self.quick else ''}"
        yield str(self.machine)
        yield ""
        for check in self.checks:
            yield f"{check.budget.what}: {said(check)}"
        yield ""
        for figure in self.figures:
            yield f"{figure.what}: {number(figure.value)} {figure.unit}"

    def write(self, folder: Path) -> None:
        """Writes ``NAME.txt`` and ``NAME.json`` into the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join(self.lines()) + "\n"
        (folder / f"{self.bench}.txt").write_text(text, encoding="utf-8")
        data = json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"
        (folder / f"{self.bench}.json").write_text(data, encoding="utf-8")


@dataclass(slots=True)
class Found:
    """What the parts of a bench add to."""

    values: dict[str, float] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)

    def figure(self, what: str, value: float, unit: str) -> None:
        """Notes a figure that has no budget."""
        self.figures.append(Figure(what, value, unit))

    def report(self, bench: str, *, quick: bool) -> Report:
        """All of it, held to the budgets."""
        return Report.on_this_machine(bench, quick=quick, figures=self.figures, values=self.values)


def said(check: Check) -> str:
    """``4.1 x (at least 3 x): met``, or by how much it is missed."""
    budget = check.budget
    verdict = "met" if check.met else f"MISSED by a factor of {check.shortfall:.2f}"
    return (
        f"{number(check.value)} {budget.unit}"
        f" ({budget.bound} {number(budget.limit)} {budget.unit}): {verdict}"
    )


def number(value: float) -> str:
    """Three digits that matter, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
