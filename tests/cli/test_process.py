"""The command as the shell sees it: streams, exit codes, colour, closed pipes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from commands import penstock, penstock_process
from repository import ROOT

from penstock.cli.options import Engine
from penstock.matching.engine import ENGINES

ESCAPE = "\x1b"


def test_version() -> None:
    done = penstock_process("--version")
    assert done.code == 0
    assert done.out.startswith("penstock 0.")


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, runpy\n"
        "sys.argv = ['penstock', '--help']\n"
        "try: runpy.run_module('penstock', run_name='__main__')\n"
        "except SystemExit as done: assert not done.code\n"
        "print(sorted({'lxml', 'pyarrow', 'penstock.matching'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "doctor" in done.stdout


@pytest.mark.parametrize("arguments", [["no-such-command"], ["doctor", "--no-such-option"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    done = penstock(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err


def test_the_engines_are_those_of_the_library() -> None:
    assert tuple(engine.value for engine in Engine) == ENGINES


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    example = "examples/alerts"
    command = f"{sys.executable} -m penstock match {example}/subscriptions.txt" + (
        f" {example}/documents/*.xml" * 200
    )
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -n 1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_pipe_gets_no_colour() -> None:
    assert ESCAPE not in penstock_process("doctor").out


def test_no_color_is_respected_where_colour_is_forced() -> None:
    # Colours are escapes that end in m and say more than bold or dim.
    forced = penstock_process("doctor", FORCE_COLOR="1").out
    plain = penstock_process("doctor", FORCE_COLOR="1", NO_COLOR="1").out
    assert f"{ESCAPE}[32m" in forced
    assert f"{ESCAPE}[32m" not in plain
