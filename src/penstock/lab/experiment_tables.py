"""The result tables of experiments, and the files they are written to."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from penstock.lab.bench.machine_description import Machine
from penstock.lab.bench.report import format_number

Cell: TypeAlias = str | float | None
"""A table cell; ``None`` if the value could not be measured."""


@dataclass(frozen=True, slots=True)
class Chart:
    """How to plot a table: one panel per value of a column, one line per other column."""

    panel: str
    x: str
    lines: tuple[str, ...]
    y_label: str
    logarithmic: bool = False
    one_scale: bool = False
    """Whether all panels share one scale."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table or figure of a paper, measured on Penstock's own data."""

    key: str
    """The last part of its file names."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Remarks on how the values were measured."""
    chart: Chart | None = None

    def column(self, name: str) -> list[Cell]:
        """The cells of a column."""
        position = self.columns.index(name)
        return [row[position] for row in self.rows]

    def lines(self) -> Iterator[str]:
        """The table as lines of plain text."""
        cells = [list(self.columns), *([_cell_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        yield self.title
        for row in cells:
            padded = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(padded).rstrip()
        yield from self.notes

    def as_csv(self) -> str:
        """The table as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True, slots=True)
class ExperimentResults:
    """The tables of one run of an experiment."""

    experiment: str
    quick: bool
    machine: Machine
    tables: tuple[ResultTable, ...]
    missing: tuple[str, ...] = ()
    """Results of the paper that cannot be reproduced, with the reason."""
    pictures: tuple[tuple[str, str], ...] = ()
    """SVG files besides the plots, by the last part of their names."""

    def as_dict(self) -> dict[str, Any]:
        """The results as a JSON object."""
        return {
            "experiment": self.experiment,
            "quick": self.quick,
            "machine": asdict(self.machine),
            "found": [asdict(table) for table in self.tables],
            "missing": list(self.missing),
        }

    def lines(self) -> Iterator[str]:
        """The results as lines of plain text."""
        yield f"penstock lab run {self.experiment}{' --quick' if self.quick else ''}"
        yield str(self.machine)
        for table in self.tables:
            yield ""
            yield from table.lines()
        for each in self.missing:
            yield ""
            yield each

    def write(self, folder: Path) -> None:
        """Write the results as text and JSON, and each table as CSV."""
        folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join(self.lines()) + "\n"
        (folder / f"{self.experiment}.txt").write_text(text, encoding="utf-8")
        data = json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"
        (folder / f"{self.experiment}.json").write_text(data, encoding="utf-8")
        for table in self.tables:
            path = folder / f"{self.experiment}-{table.key}.csv"
            path.write_text(table.as_csv(), encoding="utf-8")
        for key, svg in self.pictures:
            (folder / f"{self.experiment}-{key}.svg").write_text(svg, encoding="utf-8")


def _cell_text(cell: Cell) -> str:
    if cell is None:
        return "-"
    return cell if isinstance(cell, str) else format_number(cell)
