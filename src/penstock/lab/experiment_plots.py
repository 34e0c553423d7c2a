"""Plots result tables with matplotlib, an optional dependency."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import error
from penstock.lab.experiment_tables import Chart, ExperimentResults, ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL_INCHES = (3.4, 2.9)
"""Width and height of a panel."""

MARKERS = "osD^vx"


def require_matplotlib() -> None:
    """Raise ``lab.plots`` if matplotlib is not installed, before anything is measured."""
    if find_spec("matplotlib") is None:
        raise error("lab.plots", "matplotlib is not installed")


def draw(results: ExperimentResults, folder: Path) -> None:
    """Write a file for each chart: ``EXPERIMENT-KEY.svg``."""
    require_matplotlib()
    import matplotlib as mpl  # noqa: PLC0415  # an optional package

    # No dates or random ids, so that the same results produce the same file. Text stays text.
    with mpl.rc_context(
        {"svg.hashsalt": results.experiment, "svg.fonttype": "none", "font.size": 8}
    ):
        for table in results.tables:
            if table.chart is not None:
                figure = _figure(table, table.chart)
                path = folder / f"{results.experiment}-{table.key}.svg"
                figure.savefig(path, metadata={"Date": None, "Creator": None})


def _figure(table: ResultTable, chart: Chart) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415  # an optional package

    panels = list(dict.fromkeys(table.column(chart.panel)))
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(panels), height + 0.5), layout="constrained")
    figure.suptitle(table.title)
    for position, name in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), position)
        rows = [
            dict(zip(table.columns, row, strict=True))
            for row, panel in zip(table.rows, table.column(chart.panel), strict=True)
            if panel == name
        ]
        for line, marker in zip(chart.lines, MARKERS, strict=False):
            points = [
                (x, y)
                for row in rows
                if isinstance(x := row[chart.x], int | float)
                and isinstance(y := row[line], int | float)
            ]
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                label=line,
                marker=marker,
                markersize=3,
            )
        axes.set_title(str(name))
        axes.set_xlabel(chart.x)
        if chart.logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        if position == 1:
            axes.set_ylabel(chart.y_label)
            figure.legend(loc="outside lower center", ncols=len(chart.lines), frameon=False)
        axes.grid(alpha=0.3)
    if chart.one_scale:
        top = max(axes.get_ylim()[1] for axes in figure.axes)
        for axes in figure.axes:
            axes.set_ylim(top=top)
    return figure
