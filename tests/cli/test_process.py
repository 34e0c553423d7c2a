"""The command as a process: streams, exit codes, colour, closed pipes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import __version__ as penstock_version
from penstock.cli.commands.match import Engine
from penstock.matching.engine import ENGINES
from support.fixtures.commands import penstock, penstock_process
from support.fixtures.repository import ROOT

ESCAPE = "\x1b"


def test_version() -> None:
    done = penstock_process("--version")
    assert done.code == 0
    assert done.out == f"penstock {penstock_version}\n"


def test_help_lists_the_commands_without_importing_the_library() -> None:
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
def test_a_usage_error_exits_with_2(arguments: list[str]) -> None:
    done = penstock(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err


def test_the_engine_option_accepts_every_engine() -> None:
    assert tuple(engine.value for engine in Engine) == ENGINES


@pytest.mark.parametrize("copies", [1, 2_000])
@pytest.mark.parametrize("flags", ["", "--json"])
def test_a_closed_pipe_ends_a_command_quietly_as_sigpipe_would(copies: int, flags: str) -> None:
    """Whether the pipe breaks while the command writes, or only when the rest is flushed."""
    example = "examples/alerts"
    command = f"{sys.executable} -m penstock match {flags} {example}/subscriptions.txt" + (
        f" {example}/documents/*.xml" * copies
    )
    read_one_line = "(read -r line; echo $line)" if copies > 1 else "true"
    done = subprocess.run(
        ["bash", "-c", f"{command} | {read_one_line}; exit ${{PIPESTATUS[0]}}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGPIPE
    assert len(done.stdout.splitlines()) == (1 if copies > 1 else 0)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_completion_scripts_are_offered() -> None:
    done = penstock_process(
        "--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert done.code == 0
    assert "_PENSTOCK_COMPLETE=complete_bash" in done.out
    words = {"COMP_WORDS": "penstock subs", "COMP_CWORD": "1"}
    completed = penstock_process(_PENSTOCK_COMPLETE="complete_bash", **words)
    assert completed.out.split() == ["subscribe", "subscriptions"]


@pytest.mark.parametrize("command", [[], ["match"], ["mapping"], ["mapping", "apply"]])
def test_short_help_equals_help(command: list[str]) -> None:
    assert penstock(*command, "-h").out == penstock(*command, "--help").out
    assert "Usage" in penstock(*command, "-h").out


def test_help_groups_the_commands() -> None:
    shown = penstock("--help").out
    headings = ["Workspace", "Queries and files", "Schemas and mappings", "Installation"]
    places = [shown.index(heading) for heading in headings]
    assert places == sorted(places)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_an_unwritable_file_is_reported(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "file").touch()
    inside = tmp_path / "file" / "queries.txt"
    done = penstock("generate", "queries", "news", "--output", str(inside), *flags)
    assert done.code == 3
    message = json.loads(done.err)["error"]["message"] if flags else done.err
    assert f"{inside}: Not a directory" in message


def test_a_missing_native_core_is_one_line_on_stderr() -> None:
    hide = (
        "import sys; sys.modules['penstock._native'] = None; sys.argv = ['penstock', *sys.argv[1:]]"
        "; from penstock.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide, "relate", "/a", "/b"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PENSTOCK_REQUIRE_NATIVE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: the native core cannot be imported")
    assert "penstock doctor" in line


def test_a_pipe_gets_no_colour() -> None:
    assert ESCAPE not in penstock_process("doctor").out


def test_no_color_overrides_forced_colour() -> None:
    # Green is a colour escape; bold and dim are styles, which NO_COLOR permits.
    forced = penstock_process("doctor", FORCE_COLOR="1").out
    plain = penstock_process("doctor", FORCE_COLOR="1", NO_COLOR="1").out
    assert f"{ESCAPE}[32m" in forced
    assert f"{ESCAPE}[32m" not in plain


def test_help_fits_into_80_columns_and_names_values_instead_of_types() -> None:
    for command in ([], ["match"], ["run"], ["sync", "clone"], ["generate", "queries"]):
        shown = penstock(*command, "--help").out
        assert max(map(len, shown.splitlines())) <= 80
        assert not re.search(r"<(bool|int|float|str|file|path|list)\b|\{", shown)


def test_a_command_is_described_in_full_in_the_list_of_its_group() -> None:
    assert "folder" in penstock("--help").out.partition("init ")[2].partition("\n  subscribe")[0]
    assert "..." not in penstock("sync", "--help").out.partition("Commands:")[2]
