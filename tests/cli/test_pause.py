"""`penstock pause`, `resume` and `unsubscribe`."""

from __future__ import annotations

from pathlib import Path

from support.fixtures.commands import penstock


def test_unsubscribe_pause_and_resume(workspace_folder: Path) -> None:
    for number in range(3):
        penstock("subscribe", "anna", f"/a{number}")
    assert "2 subscriptions paused" in penstock("pause", "anna-1", "anna-2").err
    assert penstock("resume", "anna-2", "--json").rows == [{"resumed": ["anna-2"]}]
    assert penstock("unsubscribe", "anna-3", "--force").code == 0
    unknown = penstock("unsubscribe", "anna-1", "anna-3")
    assert (unknown.code, "subscription.unknown" in unknown.err) == (3, True)
    rows = penstock("subscriptions", "list", "--json").rows
    assert [(row["id"], row["state"]) for row in rows] == [
        ("anna-1", "paused"),
        ("anna-2", "active"),
    ]
