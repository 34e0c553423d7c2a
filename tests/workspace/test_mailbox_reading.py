"""Mailboxes: commit positions, cursors, following, sparse reading, read-only file systems."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from penstock.documents import Document, Header
from penstock.errors import WorkspaceError
from penstock.workspace import Mailbox, StoredSubscription, Workspace, bucket_of
from penstock.workspace.commit_positions import ORDINAL_BITS, commit_deliveries, next_commit
from penstock.workspace.compaction import SMALL_FILES_MAX, compact
from penstock.workspace.content_digest import content_digest
from penstock.workspace.delta import ROW_GROUP_BYTES, TableWriter, WrittenFile
from penstock.workspace.table_schemas import DELIVERIES
from support.fixtures.small_disk import fill, small_disk
from support.spark import reference_pipeline


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "workspace") as created:
        created.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
        yield created


def publish(workspace: Workspace, *numbers: int) -> None:
    """Publish and deliver documents, as one batch."""
    workspace.publish([document(number) for number in numbers])
    reference_pipeline.process(workspace)


def document(number: int) -> Document:
    return Document(b"<a>%d</a>" % number, Header(publisher="me", id=str(number)))


def numbers_of(mailbox: Mailbox, *, after: int | None = None) -> list[int]:
    return [int(each.document.removeprefix("me/")) for each in mailbox.read(after=after)]


def step_clock(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    shifted = datetime.now(UTC) + timedelta(hours=hours)
    monkeypatch.setattr(reference_pipeline, "utc_now", lambda: shifted)


def test_deliveries_after_a_position_are_those_committed_later(workspace: Workspace) -> None:
    mailbox = workspace.mailbox("anna")
    publish(workspace, 1, 2)
    last = max(each.position for each in mailbox.read())
    publish(workspace, 3, 4)
    assert numbers_of(mailbox) == [1, 2, 3, 4]
    assert numbers_of(mailbox, after=last) == [3, 4]
    positions = [each.position for each in mailbox.read()]
    assert positions == sorted(set(positions))
    assert [each.document for each in mailbox.read(after=last, limit=1)] == ["me/3"]


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_clock_that_steps_hides_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    mailbox = workspace.mailbox("anna")
    batches = mailbox.follow(seconds=0)
    seen = []
    for number in range(1, 7):
        step_clock(monkeypatch, hours if number % 2 else 0)
        publish(workspace, number)
        for _ in range(2):
            seen += next(batches).column("document").to_pylist()
    assert seen == [f"me/{number}" for number in range(1, 7)]


def test_a_cursor_is_durable_and_never_moves_back(workspace: Workspace) -> None:
    publish(workspace, 1, 2, 3)
    cursor = workspace.mailbox("anna").cursor("app")
    assert cursor.position is None
    first, second, _ = cursor.read()
    cursor.acknowledge(second)
    cursor.acknowledge(first)
    with Workspace.open(workspace.path) as again:
        mailbox = again.mailbox("anna")
        assert [each.document for each in mailbox.cursor("app").read()] == ["me/3"]
        assert len(list(mailbox.cursor("other").read())) == 3
        mailbox.cursor("app").delete()
        assert len(list(mailbox.cursor("app").read(limit=2))) == 2
        with pytest.raises(WorkspaceError) as caught:
            mailbox.cursor("\n")
    assert caught.value.code == "workspace.name"


def test_a_mailbox_without_a_workspace_has_no_cursors(workspace: Workspace) -> None:
    with pytest.raises(TypeError, match="Workspace"):
        Mailbox(workspace.tables, "anna").cursor("app")


def test_positions_survive_compaction_and_retention(workspace: Workspace) -> None:
    mailbox = workspace.mailbox("anna")
    for number in range(1, SMALL_FILES_MAX + 3):
        publish(workspace, number)
    before = {each.document: each.position for each in mailbox.read()}
    assert compact(workspace.tables) > 0
    assert {each.document: each.position for each in mailbox.read()} == before
    sequence = 5
    for table in (workspace.tables.documents, workspace.tables.deliveries):
        DeltaTable(table).delete(f"sequence < {sequence}")
    kept = {each.document: each.position for each in mailbox.read()}
    assert kept == {
        name: position
        for name, position in before.items()
        if int(name.removeprefix("me/")) >= sequence
    }
    assert all(each.content for each in mailbox.read())


def write_delivery(workspace: Workspace, number: int, position: int | None) -> list[WrittenFile]:
    content = document(number).content
    row = {
        "delivery": f"{number:032}",
        "subscriber": "anna",
        "subscription": "anna-1",
        "document": document(number).identity,
        "publisher": "me",
        "sequence": number,
        "published_at": datetime.now(UTC),
        "delivered_at": datetime.now(UTC),
        "batch": 0,
        "fragments": None,
        "bucket": bucket_of("anna"),
        "content_digest": content_digest(content),
        "position": position,
    }
    bucket = {"bucket": str(bucket_of("anna"))}
    writer = TableWriter(workspace.tables.deliveries, DELIVERIES, partition=bucket)
    writer.write(pa.Table.from_pylist([row], schema=DELIVERIES))
    return list(writer.close())


def test_a_commit_that_another_stream_overtook_gets_a_later_position(workspace: Workspace) -> None:
    workspace.tables.create()
    table = workspace.tables.deliveries
    commit = next_commit(table)
    slow, fast = (write_delivery(workspace, number, commit << ORDINAL_BITS) for number in (1, 2))
    assert commit_deliveries(table, fast, stream="fast", batch=0, commit=commit)
    mailbox = workspace.mailbox("anna")
    (seen,) = mailbox.deliveries().column("position").to_pylist()
    assert commit_deliveries(table, slow, stream="slow", batch=0, commit=commit)
    assert not commit_deliveries(table, slow, stream="slow", batch=0, commit=commit)
    assert mailbox.deliveries(after=seen).column("sequence").to_pylist() == [1]


def test_a_commit_of_several_tasks_takes_a_number_for_each(workspace: Workspace) -> None:
    workspace.tables.create()
    table = workspace.tables.deliveries
    commit = next_commit(table)
    files = [
        file
        for task in range(3)
        for file in write_delivery(workspace, task, (commit + task) << ORDINAL_BITS)
    ]
    other = write_delivery(workspace, 7, commit << ORDINAL_BITS)
    assert commit_deliveries(table, other, stream="fast", batch=0, commit=commit)
    assert commit_deliveries(table, files, stream="s", batch=0, commit=commit, numbers=3)
    assert next_commit(table) == commit + 4
    mailbox = workspace.mailbox("anna").deliveries()
    assert mailbox.column("sequence").to_pylist() == [7, 0, 1, 2]
    expected = [(commit + number) << ORDINAL_BITS for number in range(4)]
    assert mailbox.column("position").to_pylist() == expected


def test_deliveries_of_earlier_versions_come_first_and_keep_their_positions(
    workspace: Workspace,
) -> None:
    publish(workspace, 1, 2, 3)
    DeltaTable(workspace.tables.deliveries).update(updates={"position": "null"})
    publish(workspace, 4)
    mailbox = workspace.mailbox("anna")
    assert numbers_of(mailbox) == [1, 2, 3, 4]
    middle = list(mailbox.read())[1].position
    DeltaTable(workspace.tables.deliveries).delete("sequence = 1")
    assert numbers_of(mailbox, after=middle) == [3, 4]


def test_documents_are_in_small_row_groups_after_compaction_too(workspace: Workspace) -> None:
    filler = b"x" * 10_000
    for start in range(0, 20 * (SMALL_FILES_MAX + 1), 20):
        contents = [b"<a>%d%s</a>" % (start + number, filler) for number in range(20)]
        workspace.publish([Document(each, Header(publisher="me")) for each in contents])
        reference_pipeline.process(workspace)
    assert compact(workspace.tables) > 0
    for file in DeltaTable(workspace.tables.documents).file_uris():
        metadata = pq.read_metadata(file)
        for number in range(metadata.num_row_groups):
            assert metadata.row_group(number).total_byte_size <= 4 * ROW_GROUP_BYTES
    mailbox = workspace.mailbox("anna")
    opened = list(mailbox.opened(mailbox.deliveries().take([0, 300, 600])))
    assert [each.sequence for each in opened] == [1, 301, 601]


def test_a_mailbox_and_the_status_are_read_on_a_read_only_mount(
    workspace: Workspace, tmp_path: Path
) -> None:
    publish(workspace, 1, 2)
    workspace.mailbox("anna").cursor("app").acknowledge(1)
    workspace.close()
    (mounted := tmp_path / "mounted").mkdir()
    for command in (
        ["mount", "--bind", str(workspace.path), str(mounted)],
        ["mount", "-o", "remount,ro,bind", str(mounted)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"a read-only mount is not permitted here: {done.stderr.strip()}")
    try:
        with pytest.raises(OSError, match=r"[Rr]ead-only"):
            (mounted / "file").touch()
        with Workspace.open(mounted, read_only=True) as opened:
            assert [each.content for each in opened.mailbox("anna").read()] == [
                b"<a>1</a>",
                b"<a>2</a>",
            ]
            assert opened.mailbox("anna").cursor("app").position == 1
            assert opened.status().deliveries == 2
    finally:
        subprocess.run(["umount", "--lazy", str(mounted)], check=True)


@pytest.mark.parametrize("is_open_elsewhere", [False, True])
def test_a_mailbox_and_the_status_are_read_on_a_full_disk(
    tmp_path: Path, is_open_elsewhere: bool
) -> None:
    with small_disk(tmp_path) as disk:
        writer = Workspace.create(disk / "workspace")
        writer.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
        publish(writer, 1, 2)
        writer.publish([Document(b"<a>3</a>", Header(publisher="me"))])
        if not is_open_elsewhere:
            writer.close()
        fill(disk / "filler")
        with Workspace.open(disk / "workspace", read_only=True) as opened:
            assert numbers_of(opened.mailbox("anna")) == [1, 2]
            status = opened.status()
            assert (status.deliveries, status.waiting) == (2, 1)
        writer.close()


NEEDLESS_MODULES = {
    *("pandas", "pyarrow.dataset", "pyarrow.pandas_compat", "pyspark", "pytz"),
    *(f"penstock.{package}" for package in ("matching", "mediation", "schema", "sync")),
}
"""Reading a mailbox does not import these: pandas alone takes 40 MB and most of a second, the
packages of matching and mediation 15 MB and half a second."""

READ_WITH_THE_API = """
from penstock.workspace import Workspace
with Workspace.open(sys.argv[1]) as workspace:
    mailbox = workspace.mailbox("anna")
    first, *others = mailbox.read()
    assert first.content and first.published_at.tzinfo
    assert list(mailbox.read(after=first.position)) == others
    assert next(mailbox.follow(seconds=1)).num_rows == 1 + len(others)
    cursor = mailbox.cursor("billing")
    cursor.acknowledge(first)
    assert list(cursor.read()) == others
"""

READ_WITH_THE_COMMAND = """
from penstock.cli import main
sys.argv[0:2] = ["penstock", "mailbox", "anna", "--workspace", sys.argv[1]]
try:
    main()
except SystemExit as end:
    assert not end.code
"""


@pytest.mark.parametrize(
    ("code", "options"),
    [
        (READ_WITH_THE_API, []),
        (READ_WITH_THE_COMMAND, []),
        (READ_WITH_THE_COMMAND, ["--json"]),
        (READ_WITH_THE_COMMAND, ["--export", "exported"]),
    ],
)
def test_reading_imports_no_needless_libraries(
    workspace: Workspace, tmp_path: Path, code: str, options: list[str]
) -> None:
    publish(workspace, 1, 2, 3)
    publish(workspace, 4)
    end = f"\nprint(sorted({NEEDLESS_MODULES!r} & sys.modules.keys()), file=sys.stderr)"
    command = [sys.executable, "-c", f"import sys\n{code}{end}", str(workspace.path), *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"
