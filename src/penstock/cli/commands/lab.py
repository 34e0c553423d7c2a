"""``penstock lab``: reruns the experiments of published papers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import err, note, out, print_json
from penstock.cli.options import JsonOption

lab_app = typer.Typer(
    name="lab", no_args_is_help=True, help="Rerun the experiments of papers on generated data."
)


class Experiment(StrEnum):
    """The experiments; the same names as :data:`penstock.lab.experiments.EXPERIMENTS`."""

    AGGREGATION = "aggregation"
    CODD = "codd"
    CODD_SWEEP = "codd-sweep"
    KEMB = "kemb"
    MEDIATION = "mediation"
    PIGGYBACK = "piggyback"
    XSYNC = "xsync"


@lab_app.callback()
def _group() -> None:
    pass  # without a callback, Typer merges a group with a single command into its parent


@lab_app.command("run")
def run(
    name: Annotated[
        Experiment,
        typer.Argument(metavar="NAME", help="Set of experiments to run.", show_default=False),
    ],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small inputs: under two minutes on two cores.")
    ] = False,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", "--out", metavar="DIR", help="Write tables and plots to this folder."
        ),
    ] = Path("results"),
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="DIR",
            file_okay=False,
            help="Keep finished runs in this folder, and go on from there (codd, codd-sweep,"
            " piggyback). Empty it when the code has changed.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a paper's experiments; write tables and plots, and print the tables."""
    from penstock.lab import experiment_plots
    from penstock.lab.experiments import EXPERIMENTS, RESUMABLE

    if resume is not None and name not in RESUMABLE:
        raise typer.BadParameter(f"{name} cannot be interrupted", param_hint="--resume")
    experiment_plots.require_matplotlib()
    with err().status(f"lab {name}") as status:
        # A log file gets lines, so that one can see how far a long run is.
        progress = status.update if err().is_terminal else note
        if resume is None:
            results = EXPERIMENTS[name](quick=quick, progress=progress)
        else:
            results = RESUMABLE[name](quick=quick, progress=progress, finished=resume)
    results.write(output)
    experiment_plots.draw(results, output)
    if as_json:
        print_json(results.as_dict())
    else:
        for line in results.lines():
            out().print(line, soft_wrap=True)
    note(f"tables and plots written to {output}")
