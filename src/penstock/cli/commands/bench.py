"""``penstock bench``: runs a benchmark and compares it with its budgets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from penstock.cli.console import err, note, out, print_json, print_table
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import JsonOption

if TYPE_CHECKING:
    from penstock.lab.bench.report import Report


class Bench(StrEnum):
    """The benchmarks; the same names as :data:`penstock.lab.bench.BENCHES`."""

    READER = "reader"
    PATHS = "paths"
    RESULTS = "results"
    INDEX = "index"
    KEYWORDS = "keywords"
    MEDIATION = "mediation"
    RELATIONS = "relations"
    HOSTILE = "hostile"
    ROUTING = "routing"
    OVERLAY = "overlay"
    SYNC = "sync"
    MAILBOX = "mailbox"
    PIPELINE = "pipeline"
    DELIVERY = "delivery"


OPTIMISED = "release"
"""The cargo profile of wheels, with which the budgets are to be met."""


def bench(
    name: Annotated[
        Bench, typer.Argument(metavar="NAME", help="Benchmark to run.", show_default=False)
    ],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a budget is missed.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Use small inputs: only checks that the benchmark works."),
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write NAME.txt and NAME.json to this folder."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure speed and memory against the project's budgets.

    Budgets are ratios within one run: both sides are measured alternately, and their medians are
    compared.
    """
    from penstock.lab.bench import BENCHES

    with err().status(f"bench {name}") as status:
        report = BENCHES[name](quick=quick, progress=status.update)
    if as_json:
        print_json(report.as_dict())
    else:
        _print_text(report)
    if write is not None:
        report.write(write)
        note(f"written to {write}")
    profile = report.machine.build_profile
    if profile != OPTIMISED and not report.quick:
        note(f"measured with a {profile} build; `make bench` compiles an optimised one")
    missed = [each for each in report.checks if not each.met]
    if check and missed:
        for each in missed:
            note(f"missed by a factor of {each.shortfall:.2f}: {each.budget.what}")
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print_text(report: Report) -> None:
    from penstock.lab.bench.report import format_number

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
            f"{format_number(check.value)} {budget.unit}",
            f"{budget.bound} {format_number(budget.limit)} {budget.unit}",
            verdict,
        )
    print_table(budgets)
    figures = Table(box=None, pad_edge=False, show_header=False)
    figures.add_column()
    figures.add_column(justify="right")
    for figure in report.figures:
        figures.add_row(figure.what, f"{format_number(figure.value)} {figure.unit}")
    console.print()
    print_table(figures)
