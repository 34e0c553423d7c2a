"""`penstock clean`: what it removes, what it keeps, and the prompt."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.documents import Document, Header
from penstock.mediation import UnknownSchema
from penstock.workspace import Published, StoredSubscription, Workspace, journal_appender, retention
from penstock.workspace.batch_records import BatchRecords
from penstock.workspace.index_versions import files_of, readable_tokenizer
from penstock.workspace.retention import Removal, processed_files, removals
from penstock.workspace.retention_policy import RetentionPolicy
from support.fixtures.commands import penstock
from support.fixtures.small_disk import fill, small_disk
from support.spark.reference_pipeline import STREAM, process


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.chdir(tmp_path)
    with Workspace.create(tmp_path) as made:
        made.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
        yield made


def document(number: int, content: bytes = b"<a/>") -> Document:
    return Document(content, Header(publisher="me", id=str(number)))


def later(workspace: Workspace, **time: int) -> dict[str, Removal]:
    """The removals that will be possible at a later time, with a retention of one day."""
    now = datetime.now(UTC) + timedelta(**time)
    found = removals(workspace, policy=RetentionPolicy.uniform(timedelta(days=1)), now=now)
    return {removal.what: removal for removal in found}


def counted(found: dict[str, Removal]) -> dict[str, int]:
    return {what: removal.count for what, removal in found.items()}


def aged(path: Path) -> None:
    """Sets the modification time of a file to two days ago."""
    two_days_ago = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    os.utime(path, (two_days_ago, two_days_ago))


INBOX = "processed inbox files"


def test_a_new_workspace_has_nothing_to_remove(workspace: Workspace) -> None:
    assert later(workspace, hours=1) == {}
    done = penstock("clean")
    assert (done.code, done.err) == (0, "there is nothing to remove\n")


@pytest.fixture
def one_file_per_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_appender, "INBOX_FILE_BYTES", 1)


@pytest.mark.usefixtures("one_file_per_document")
def test_inbox_files_are_removed_once_spark_cannot_replay_them(workspace: Workspace) -> None:
    for number in range(3):
        workspace.publish([document(number)])
        if number < 2:
            process(workspace)
    names = [path.name for path in sorted(workspace.inbox.folder.iterdir())]
    # The third is waiting, and the second belongs to the last batch.
    assert [path.name for path in processed_files(workspace)] == names[:1]
    assert (
        later(workspace, hours=1)[INBOX].bytes == (workspace.inbox.folder / names[0]).stat().st_size
    )
    later(workspace, hours=1)[INBOX].remove()
    assert [path.name for path in sorted(workspace.inbox.folder.iterdir())] == names[1:]
    process(workspace)
    assert [path.name for path in processed_files(workspace)] == names[1:2]
    assert workspace.publish([document(0), document(9)]) == Published(1, 1)


def test_mappings_are_removed_once_no_batch_needs_them(workspace: Workspace) -> None:
    workspace.publish([document(1)])
    process(workspace)  # batch 0 of the stream is committed, and may be replayed
    unknown: list[UnknownSchema] = ["refuse", "as-is"]
    recorded, other = (workspace.mediation.current(unknown_schema=each) for each in unknown)
    BatchRecords(str(workspace.batches), STREAM).get_or_create(0, list, lambda: recorded)
    for uri in (recorded, other):
        aged(Path(uri))
    found = later(workspace, hours=0)["unused mapping files"]
    assert found.count == 1
    found.remove()
    assert [str(path) for path in workspace.mappings.iterdir()] == [recorded]
    assert workspace.mediation.current(unknown_schema="as-is") == other, "it is written again"


def test_the_file_that_documents_are_appended_to_is_never_removed(workspace: Workspace) -> None:
    for number in range(3):
        workspace.publish([document(number)])
        process(workspace)
    assert processed_files(workspace) == []


def test_rows_are_removed_by_age_and_identities_with_their_documents(workspace: Workspace) -> None:
    workspace.publish([document(1), document(2, b"<a>")])
    process(workspace)
    assert counted(later(workspace, hours=1)) == {}
    found = later(workspace, days=2)
    assert counted(found) == {
        "documents": 1,
        "deliveries": 1,
        "dead letters": 1,
        "identities of removed documents": 1,
    }
    for removal in found.values():
        removal.remove()
    assert workspace.mailbox("anna").deliveries().num_rows == 0
    assert workspace.dead_letters.all() == []
    assert workspace.publish([document(1), document(2)]) == Published(1, 1)


@pytest.mark.usefixtures("one_file_per_document")
def test_inbox_progress_survives_the_removal_of_batch_counts(workspace: Workspace) -> None:
    for number in range(3):
        workspace.publish([document(number)])
        process(workspace)
    later(workspace, days=2)["batch counts"].remove()
    assert "batch counts" not in later(workspace, days=2)
    workspace.publish([document(9)])
    process(workspace)
    process(workspace)
    assert len(processed_files(workspace)) == 3, "the last one is open for more documents"


def test_a_delivery_of_a_removed_document_says_so(workspace: Workspace, tmp_path: Path) -> None:
    workspace.publish([document(1)])
    process(workspace)
    later(workspace, days=2)["documents"].remove()
    assert "has been removed from the workspace" in penstock("mailbox", "anna").out
    assert "content" not in penstock("mailbox", "anna", "--json").rows[0]
    exported = penstock("mailbox", "anna", "--export", "out")
    assert (
        exported.err == "me/1 has been removed from the workspace\n1 delivery: 0 new files in out\n"
    )


def test_expired_subscriptions_are_removed(workspace: Workspace) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    workspace.subscriptions.add(StoredSubscription(subscriber="ben", query="/a", expires_at=soon))
    assert counted(later(workspace, hours=2)) == {}
    later(workspace, days=2)["expired subscriptions"].remove()
    assert [each.id for each in workspace.subscriptions.each()] == ["anna-1"]


def test_index_files_are_removed_when_neither_current_nor_recorded(workspace: Workspace) -> None:
    workspace.current_version()  # later versions are changes of this one
    uris = []
    for number in range(3):
        workspace.subscriptions.add(StoredSubscription(subscriber="ben", query=f"/b{number}"))
        uris.append(workspace.current_version())
    stray = workspace.indexes / "making-killed"
    stray.mkdir()
    (stray / "index").write_bytes(b"1234")
    process(workspace)
    records = BatchRecords(str(workspace.batches), STREAM)
    records.get_or_create(0, lambda: [uris[1]])
    what = "unused index files"
    assert what not in later(workspace, hours=1), "they may be in the making"
    found = later(workspace, hours=30)[what]
    unused = set(files_of(uris[0])) - set(files_of(uris[1])) - set(files_of(uris[2]))
    assert found.count == len(unused) + 1
    found.remove()
    assert [readable_tokenizer(uri) is not None for uri in uris] == [False, True, True]
    assert not stray.exists()
    process(workspace)
    records.get_or_create(1, lambda: [uris[2]])
    later(workspace, hours=30)["records of committed batches"].remove()
    assert [record.batch for record in records.all()] == [1]
    later(workspace, hours=30)[what].remove()
    assert [readable_tokenizer(uri) is not None for uri in uris] == [False, False, True]


def test_leftovers_of_killed_processes_are_removed(workspace: Workspace) -> None:
    folder = workspace.checkpoints / "inbox" / "offsets"
    folder.mkdir(parents=True)
    for name in (".7.tmp", "7"):
        (folder / name).write_text("x")
        aged(folder / name)
    (folder / ".8.tmp").write_text("x")
    found = later(workspace, hours=1)
    assert counted(found) == {"temporary files of interrupted processes": 1}
    for removal in found.values():
        removal.remove()
    assert sorted(path.name for path in folder.iterdir()) == [".8.tmp", "7"]


def test_files_dropped_from_a_table_are_removed_once_no_reader_needs_them(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.publish([document(1)])
    process(workspace)
    later(workspace, days=2)["documents"].remove()
    what = "obsolete files of table documents"
    assert what not in later(workspace, days=2)
    monkeypatch.setattr(retention, "OBSOLETE_HOURS", 0)
    found = later(workspace, days=2)[what]
    assert found.count == 1
    assert found.bytes
    found.remove()
    assert list(Path(workspace.tables.documents).glob("*.parquet")) == []


def test_files_that_were_never_committed_are_removed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.publish([document(1)])
    process(workspace)
    left = Path(workspace.tables.deliveries) / "bucket=1" / "part-of-a-failed-task.parquet"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"1234")
    what = "obsolete files of table deliveries"
    monkeypatch.setattr(retention, "OBSOLETE_HOURS", 0)
    assert what not in later(workspace, hours=1), "its batch may still be running"
    monkeypatch.setattr(retention, "UNCOMMITTED_HOURS", 0)
    later(workspace, hours=1)[what].remove()
    assert not left.exists()
    assert workspace.mailbox("anna").deliveries().num_rows == 1


def test_a_large_log_is_emptied(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.log.write_bytes(bytes(11))
    assert later(workspace, hours=1) == {}
    monkeypatch.setattr(retention, "LOG_BYTES_MAX", 10)
    later(workspace, hours=1)["log of Spark's messages"].remove()
    assert workspace.log.stat().st_size == 0


def test_clean_applies_the_policy_and_thirty_days_to_the_rest(workspace: Workspace) -> None:
    workspace.publish([document(1), document(2, b"<a>")])
    process(workspace)
    workspace.retention.write(RetentionPolicy(deliveries=timedelta()))
    assert penstock("clean", "--yes").code == 0
    assert workspace.mailbox("anna").deliveries().num_rows == 0
    assert len(workspace.dead_letters.all()) == 1
    assert workspace.status().documents == 2
    assert penstock("clean", "--yes", "--keep-days", "0").code == 0
    assert workspace.dead_letters.all() == []


@pytest.mark.usefixtures("one_file_per_document")
def test_clean_frees_space_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path):
        folder = tmp_path / "workspace"
        with Workspace.create(folder) as workspace:
            workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
            for number in range(3):
                workspace.publish([document(number)])
                process(workspace)
        filler = tmp_path / "filler"
        fill(filler)
        with pytest.raises(OSError, match="No space left"):
            (tmp_path / "more").write_bytes(bytes(1 << 12))
        command = [sys.executable, "-m", "penstock", "clean", "--force", "-w", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "2  processed inbox files" in done.stdout
        assert len(list((folder / "inbox").iterdir())) == 1
        filler.unlink()
        with Workspace.open(folder) as workspace:
            assert workspace.mailbox("anna").deliveries().num_rows == 3
            assert workspace.status().documents == 3


@pytest.fixture
def something_old(workspace: Workspace) -> Callable[[], bool]:
    """Creates an old temporary file; the value is a function that tests whether it exists."""
    path = workspace.checkpoints / "left.tmp"
    path.write_text("x")
    aged(path)
    return path.exists


@pytest.mark.parametrize(("answer", "there"), [("n\n", True), ("y\n", False)])
def test_clean_asks_before_removing(
    something_old: Callable[[], bool], answer: str, there: bool
) -> None:
    done = CliRunner().invoke(app, ["clean"], input=answer)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == "1  temporary files of interrupted processes  1 byte"
    assert "Remove this?" in done.stderr
    assert something_old() is there


def test_json_removes_only_with_yes(something_old: Callable[[], bool]) -> None:
    row, summary = penstock("clean", "--json").rows
    assert row == {
        "type": "removal",
        "what": "temporary files of interrupted processes",
        "count": 1,
        "bytes": 1,
    }
    assert summary == {"type": "summary", "removed": False}
    assert something_old()
    assert penstock("clean", "--json", "--yes").rows[-1]["removed"] is True
    assert not something_old()
    assert penstock("clean", "--keep-days", "0", "--yes").code == 0
