"""`penstock retention`: showing and setting how long data is kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from penstock.errors import WorkspaceError
from penstock.workspace import Workspace
from penstock.workspace.retention_policy import RetentionPolicy
from support.fixtures.commands import penstock


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new workspace in the current folder."""
    monkeypatch.chdir(tmp_path)
    Workspace.create(tmp_path).close()
    return tmp_path


def test_a_new_workspace_keeps_everything_forever() -> None:
    shown = penstock("retention", "show")
    assert shown.out == "documents: forever\ndeliveries: forever\ndead letters: forever\n"


def test_setting_one_age_keeps_the_others(folder: Path) -> None:
    penstock("retention", "set", "--documents", "30d", "--deliveries", "90d")
    done = penstock("retention", "set", "--deliveries", "36h", "--json")
    assert done.rows == [
        {"type": "retention", "documents": "30d", "deliveries": "36h", "dead_letters": "forever"}
    ]
    with Workspace.open(folder) as workspace:
        assert workspace.retention.read() == RetentionPolicy(
            documents=timedelta(days=30), deliveries=timedelta(hours=36)
        )
    penstock("retention", "set", "--documents", "forever")
    assert penstock("retention", "show", "--json").rows[0]["documents"] == "forever"


@pytest.mark.parametrize("age", ["", "30", "d", "-1d", "3w", "9999999d"])
def test_an_unreadable_age_is_refused(age: str) -> None:
    done = penstock("retention", "set", f"--documents={age}")
    assert done.code == 2
    assert "is not an age" in done.err


def test_without_an_age_nothing_is_set() -> None:
    assert penstock("retention", "set").code == 2


def test_an_age_out_of_range_is_refused_and_changes_nothing(folder: Path) -> None:
    done = penstock("retention", "set", "--documents", "36501d")
    assert done.code == 3
    assert "workspace.retention" in done.err
    with Workspace.open(folder) as workspace:
        with pytest.raises(WorkspaceError, match="not between 0 and"):
            workspace.retention.write(RetentionPolicy(dead_letters=timedelta(days=-1)))
        assert workspace.retention.read() == RetentionPolicy()
