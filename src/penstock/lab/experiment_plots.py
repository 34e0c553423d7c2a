"""Draws the charts of findings with matplotlib, which only the laboratory needs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import error
from penstock.lab.experiment_tables import Chart, Finding, Findings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL_INCHES = (3.4, 2.9)
"""Width and height of a panel."""

MARKERS = "osD^vx"


def require_matplotlib() -> None:
    """Says so before anything is measured, where plots could not be drawn."""
    if find_spec("matplotlib") is None:
        raise error("lab.plots", "matplotlib is not installed")


def draw(findings: Findings, folder: Path) -> None:
    """Writes a file for each chart: ``EXPERIMENT-KEY.svg``."""
    require_matplotlib()
    import matplotlib as mpl  # noqa: PLC0415  # an optional package

    # Without dates and random ids: the same findings give the same file. Text stays text.
    with mpl.rc_context(
        {"svg.hashsalt": findings.experiment, "svg.fonttype": "none", "font.size": 8}
    ):
        for finding in findings.found:
            if finding.chart is not None:
                figure = _figure(finding, finding.chart)
                path = folder / f"{findings.experiment}-{finding.key}.svg"
                figure.savefig(path, metadata={"Date": None, "Creator": None})


def _figure(finding: Finding, chart: Chart) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415  # an optional package

    panels = list(dict.fromkeys(finding.column(chart.panel)))
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(panels), height + 0.5), layout="constrained")
    figure.suptitle(finding.title)
    for place, name in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), place)
        rows = [
            dict(zip(finding.columns, row, strict=True))
            for row, panel in zip(finding.rows, finding.column(chart.panel), strict=True)
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
        if place == 1:
            axes.set_ylabel(chart.y_label)
            figure.legend(loc="outside lower center", ncols=len(chart.lines), frameon=False)
        axes.grid(alpha=0.3)
    if chart.one_scale:
        top = max(axes.get_ylim()[1] for axes in figure.axes)
        for axes in figure.axes:
            axes.set_ylim(top=top)
    return figure
