"""``penstock bench``: measures the budgets, shows what was found, and checks it."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from penstock.cli.console import ExitCode, err, note, out, print_json, print_table
from penstock.lab.bench import BENCHES
from penstock.lab.bench.report import Report, number


def run(name: str, *, check: bool, quick: bool, write: Path | None, as_json: bool) -> ExitCode:
    """Runs one bench; with ``check`` a missed budget is a failure."""
    with err().status(f"bench {name}") as status:
        report = BENCHES[name](quick=quick, tell=status.update)
    if as_json:
        print_json(report.as_dict())
    else:
        _print_text(report)
    if write is not None:
        report.write(write)
        note(f"written to {write}")
    missed = [each for each in report.checks if not each.met]
    if not check or not missed:
        return ExitCode.DONE
    for each in missed:
        note(f"missed by a factor of {each.shortfall:.2f}: {each.budget.what}")
    return ExitCode.CHECK_FAILED


def _print_text(report: Report) -> None:
    console = out()
    console.print(str(report.machine), style="dim", soft_wrap=True)
    budgets = Table(box=None, pad_edge=False)
    for head in ("budget", "measured", "limit", ""):
        budgets.add_column(head, justify="right" if head in {"measured", "limit"} else "left")
    for check in report.checks:
        budget = check.budget
        verdict = Text("met", "green") if check.met else Text("MISSED", "bold red")
        budgets.add_row(
            budget.what,
            f"{number(check.value)} {budget.unit}",
            f"{budget.bound} {number(budget.limit)} {budget.unit}",
            verdict,
        )
    print_table(budgets)
    figures = Table(box=None, pad_edge=False, show_header=False)
    figures.add_column()
    figures.add_column(justify="right")
    for figure in report.figures:
        figures.add_row(figure.what, f"{number(figure.value)} {figure.unit}")
    console.print()
    print_table(figures)
