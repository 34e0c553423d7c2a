"""Maintenance: what a running stream removes by itself, and what never stops it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.documents import Document, Header
from penstock.workspace import StoredSubscription, Workspace, journal_appender, retention
from penstock.workspace.compaction import compact
from penstock.workspace.maintenance import maintain
from penstock.workspace.retention import Removal
from penstock.workspace.retention_policy import RetentionPolicy
from support.spark.reference_pipeline import process


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setattr(journal_appender, "INBOX_FILE_BYTES", 1)  # every document begins a file
    with Workspace.create(tmp_path) as made:
        made.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
        yield made


def publish_and_process(workspace: Workspace, number: int) -> None:
    workspace.publish([Document(b"<a/>", Header(publisher="me", id=str(number)))])
    process(workspace)


def removed(workspace: Workspace, **later: int) -> set[str]:
    now = datetime.now(UTC) + timedelta(**later)
    return {removal.what for removal in maintain(workspace, now=now)}


def test_without_a_policy_only_unneeded_files_are_removed(workspace: Workspace) -> None:
    for number in range(3):
        publish_and_process(workspace, number)
    assert removed(workspace, days=1000) == {"processed inbox files"}
    assert workspace.mailbox("anna").deliveries().num_rows == 3


def test_rows_are_removed_by_the_policy(workspace: Workspace) -> None:
    for number in range(2):
        publish_and_process(workspace, number)
    workspace.retention.write(RetentionPolicy(deliveries=timedelta(days=90)))
    assert "deliveries" not in removed(workspace, days=89)
    assert "deliveries" in removed(workspace, days=91)
    assert workspace.mailbox("anna").deliveries().num_rows == 0
    assert workspace.status().documents == 2


def test_the_number_of_files_stays_bounded(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "OBSOLETE_HOURS", 0)
    for number in range(50):
        publish_and_process(workspace, number)
        compact(workspace.tables)
        maintain(workspace, now=datetime.now(UTC))
    files = list(Path(workspace.tables.root).rglob("part-*.parquet"))
    assert len(files) <= 3 * 33, "compaction starts above 32 small files in a table"
    assert len(list(workspace.inbox.folder.iterdir())) == 1
    assert workspace.mailbox("anna").deliveries().num_rows == 50


def test_what_a_backfill_may_read_is_not_removed(workspace: Workspace) -> None:
    for number in range(3):
        publish_and_process(workspace, number)
    with workspace.lock("backfill"):
        assert removed(workspace) == set()
    assert removed(workspace) == {"processed inbox files"}


def test_a_failed_removal_stops_nothing_else(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("cannot")

    done: list[str] = []
    found = [
        Removal("first", 1, None, fail),
        Removal("second", 1, None, lambda: done.append("second")),
    ]
    monkeypatch.setattr("penstock.workspace.maintenance.removals", lambda *_, **__: found)
    assert removed(workspace) == {"second"}
    assert done == ["second"]
