"""The commands of ``penstock lab``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import JsonOption

lab_app = typer.Typer(
    name="lab", no_args_is_help=True, help="Repeat the experiments of papers on our own data."
)


class Experiment(StrEnum):
    """The experiments by name, as :data:`penstock.lab.experiments.EXPERIMENTS` has them."""

    KEMB = "kemb"
    MEDIATION = "mediation"


@lab_app.callback()
def _lab() -> None:
    pass  # a group, also while it has a single command


@lab_app.command("run")
def _run(
    name: Annotated[
        Experiment, typer.Argument(help="Whose experiments to run.", show_default=False)
    ],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small numbers: under two minutes on two cores.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Write tables and plots here.")
    ] = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Run a paper's experiments; write text, CSV, JSON and plots, and print the tables."""
    from penstock.cli import lab

    raise typer.Exit(lab.run(name, quick=quick, output=output, as_json=as_json))
