"""``penstock lab run``: the experiments of a paper, as tables and plots."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import ExitCode, err, note, out, print_json
from penstock.lab import plots
from penstock.lab.experiments import EXPERIMENTS


def run(name: str, *, quick: bool, output: Path, as_json: bool) -> ExitCode:
    """Runs one experiment, writes what it found, and prints the tables."""
    plots.need_matplotlib()
    with err().status(f"lab {name}") as status:
        findings = EXPERIMENTS[name](quick=quick, tell=status.update)
    findings.write(output)
    plots.draw(findings, output)
    if as_json:
        print_json(findings.as_dict())
    else:
        for line in findings.lines():
            out().print(line, soft_wrap=True)
    note(f"tables and plots written to {output}")
    return ExitCode.DONE
