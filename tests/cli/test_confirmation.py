"""Commands that remove something ask, or take `--force`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.confirmation import confirm_removal
from support.fixtures.commands import penstock

REMOVALS = (
    ("unsubscribe", "anna-1"),
    ("mapping", "remove", "season"),
    ("domain", "remove", "concerts"),
)


@pytest.fixture
def remaining(mapping_file: str) -> Callable[[], list[str]]:
    """A workspace with one of each; the value is a function that counts what remains."""
    penstock("subscribe", "anna", "/a")
    penstock("mapping", "register", "season", mapping_file)

    def counts() -> list[str]:
        lists = (["subscriptions", "list"], ["mapping", "list"], ["domain", "list"])
        return [penstock(*each).err.split()[0] for each in lists]

    return counts


def test_without_a_terminal_nothing_is_removed_unless_forced(
    remaining: Callable[[], list[str]],
) -> None:
    penstock("mapping", "remove", "season", "--force")
    for command in REMOVALS[::2]:
        for flags in ([], ["--json"]):
            done = penstock(*command, *flags)
            assert (done.code, done.out) == (2, "")
            assert "--force" in done.err
    assert remaining() == ["1", "0", "1"]
    for command in REMOVALS[::2]:
        assert penstock(*command, "--force").code == 0
    assert remaining() == ["0", "0", "0"]


def test_what_does_not_exist_is_refused_before_asking(
    remaining: Callable[[], list[str]],
) -> None:
    for command in REMOVALS:
        done = penstock(*command[:-1], "missing")
        assert done.code == 3
        assert "--force" not in done.err
    assert penstock("domain", "remove", "concerts").code == 3  # a mapping refers to it
    assert remaining() == ["1", "1", "1"]


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_a_terminal_is_asked(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    penstock("subscribe", "anna", "/a", "--id", "a b")
    monkeypatch.setattr(
        "penstock.cli.confirmation.sys",
        type("Terminal", (), {"stdin": type("Stdin", (), {"isatty": lambda: True})}),
    )
    done = CliRunner().invoke(app, ["unsubscribe", "a b"], input=answer)
    assert done.exit_code == code
    assert "Remove `a b`?" in done.stderr
    left = penstock("subscriptions", "list", "--json").rows
    assert len(left) == (0 if answer == "y\n" else 1)


def test_force_never_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO())
    confirm_removal("everything", force=True, as_json=False)
