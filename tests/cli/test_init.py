"""`penstock init`, and how commands find the workspace."""

from __future__ import annotations

from pathlib import Path

from support.fixtures.commands import penstock, penstock_process


def test_init_creates_a_workspace_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "w")
    done = penstock("init", folder)
    assert (done.code, done.out) == (0, "")
    assert "penstock subscribe" in done.err
    again = penstock("init", folder)
    assert again.code == 3
    assert "workspace.exists" in again.err
    assert penstock("init", str(tmp_path / "v"), "--json").rows == [
        {"workspace": str(tmp_path / "v")}
    ]


def test_a_folder_without_a_workspace_is_refused_with_advice(tmp_path: Path) -> None:
    done = penstock("subscribe", "anna", "/a", "-w", str(tmp_path))
    assert done.code == 3
    assert "workspace.missing" in done.err
    assert "penstock init" in done.err


def test_the_workspace_may_come_from_the_environment(tmp_path: Path) -> None:
    penstock("init", str(tmp_path))
    done = penstock_process("subscribe", "anna", "/a", PENSTOCK_WORKSPACE=str(tmp_path))
    assert (done.code, done.out) == (0, "anna-1\n")
