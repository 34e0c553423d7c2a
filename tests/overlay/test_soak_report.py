"""The report of the long runs: what was explored, and what was not."""

from __future__ import annotations

from pathlib import Path

import pytest
import soak_overlay

from penstock.overlay.simulation import SCENARIOS


def report(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str
) -> tuple[int, dict[str, str]]:
    """The exit code, and what the written report says of each exploration."""
    written = folder / "soak-overlay.txt"
    monkeypatch.setattr(soak_overlay, "RESULT", written)
    given = ["soak", "--scenarios=0", "--large-scenarios=0", "--write", *arguments]
    monkeypatch.setattr("sys.argv", given)
    code = soak_overlay.main()
    lines = [each for each in written.read_text().splitlines() if each.startswith("exploration ")]
    return code, {each.partition(": ")[0]: each.partition(": ")[2] for each in lines}


def test_each_scenario_is_named_with_whether_it_was_exhausted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, told = report(monkeypatch, tmp_path, "--states=2")
    assert code == 0
    assert list(told) == [f"exploration {each.name!r}" for each in SCENARIOS]
    assert all(each.startswith("not exhausted, 2 states") for each in told.values())


def test_scenarios_that_were_not_explored_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, told = report(monkeypatch, tmp_path, "--states=0")
    assert list(told) == [f"exploration {each.name!r}" for each in SCENARIOS]
    assert set(told.values()) == {"not explored"}
