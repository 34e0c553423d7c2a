"""What an experiment finds: tables that can be drawn, and the files they are written to."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from penstock.lab.bench.machine_description import Machine
from penstock.lab.bench.report import number

Cell: TypeAlias = str | float | None
"""A value; ``None`` where nothing could be measured."""


@dataclass(frozen=True, slots=True)
class Chart:
    """How a table is drawn: a panel for each value of one column, a line for each of others."""

    panel: str
    x: str
    lines: tuple[str, ...]
    y_label: str
    logarithmic: bool = False
    one_scale: bool = False
    """Whether all panels have the same scale, so that they can be compared."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One table or figure of a paper, on our own data."""

    key: str
    """The name of its files."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """How it was measured, where that is not plain."""
    chart: Chart | None = None

    def column(self, name: str) -> list[Cell]:
        """The values of a column."""
        position = self.columns.index(name)
        return [row[position] for row in self.rows]

    def lines(self) -> Iterator[str]:
        """The table as plain text."""
        cells = [list(self.columns), *([_shown(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        yield self.title
        for row in cells:
            padded = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(padded).rstrip()
        yield from self.notes

    def as_csv(self) -> str:
        """The table for spreadsheets."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a run of an experiment found."""

    experiment: str
    quick: bool
    machine: Machine
    found: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    """What the paper has and a run cannot, and why."""

    def as_dict(self) -> dict[str, Any]:
        """The findings as JSON shows them."""
        return {
            "experiment": self.experiment,
            "quick": self.quick,
            "machine": asdict(self.machine),
            "found": [asdict(finding) for finding in self.found],
            "missing": list(self.missing),
        }

    def lines(self) -> Iterator[str]:
        """The findings as plain text."""
        yield f"penstock lab run {self.experiment}{' --quick' if self.quick else ''}"
        yield str(self.machine)
        for finding in self.found:
            yield ""
            yield from finding.lines()
        for each in self.missing:
            yield ""
            yield each

    def write(self, folder: Path) -> None:
        """Writes all as text and as JSON, and each table as CSV."""
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join(self.lines()) + "\n"
        (folder / f"{self.experiment}.txt").write_text(text, encoding="utf-8")
        data = json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"
        (folder / f"{self.experiment}.json").write_text(data, encoding="utf-8")
        for finding in self.found:
            path = folder / f"{self.experiment}-{finding.key}.csv"
            path.write_text(finding.as_csv(), encoding="utf-8")


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    return cell if isinstance(cell, str) else number(cell)
