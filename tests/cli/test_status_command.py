"""What `penstock status` prints of a workspace."""

from __future__ import annotations

from pathlib import Path

from penstock.workspace import Workspace
from support.fixtures.commands import penstock
from support.fixtures.workspace_counts import commit_counts


def test_subscriptions_that_were_set_aside_are_named(tmp_path: Path) -> None:
    workspace = tmp_path / "wire"
    with Workspace.create(workspace) as opened:
        opened.tables.create()
        set_aside = {f"anna-{number}": number for number in range(1, 13)}
        commit_counts(opened.tables, 0, set_aside)
    done = penstock("status", "-w", str(workspace))
    assert done.code == 0, done.err
    lines = [line.strip() for line in done.out.splitlines() if "set aside" in line]
    assert len(lines) == 10
    assert lines[0] == (
        "subscription anna-12 was set aside for 12 documents: too much work (limit.work)"
    )
    assert "and 2 more; --json lists all" in done.out
    (row,) = penstock("status", "--json", "-w", str(workspace)).rows
    assert len(row["set_aside"]) == 12
    assert row["set_aside"][-1] == {"subscription": "anna-1", "documents": 1}
