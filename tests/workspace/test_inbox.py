"""Publishing: each document once, in order and atomically, whatever kills the process."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import textwrap
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.documents import Document, Header
from penstock.errors import PenstockError
from penstock.workspace import Published, Workspace, inbox, journal, journal_appender
from penstock.workspace.atomic_files import sync_file
from penstock.workspace.journal import (
    Entry,
    JournalFile,
    document_rows,
    encode_entry,
    file_name,
    journal_files,
    new_file_header,
    read_salt,
    salt_of,
)
from penstock.workspace.journal_scanner import JournalScanner
from support.fixtures.repository import ROOT


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "w") as created:
        yield created


def documents(count: int, publisher: str = "me", start: int = 0) -> list[Document]:
    return [
        Document(f"<a n='{number}'/>".encode(), Header(publisher=publisher))
        for number in range(start, start + count)
    ]


def rows_in(workspace: Workspace) -> list[dict[str, Any]]:
    """All documents of the inbox, file by file in name order."""
    rows: list[dict[str, Any]] = []
    for path in journal_files(workspace.inbox.folder):
        with JournalFile(path) as file:
            rows += [row for entry in file.entries() for row in file.rows(entry).to_pylist()]
    return rows


def test_a_document_arrives_with_its_header(workspace: Workspace) -> None:
    header = Header(publisher="me", schema="news", id="7", fields={"b": "2", "a": "1"})
    assert workspace.publish([Document(b"<a/>\xff\x00", header)]) == Published(1, 0)
    (row,) = rows_in(workspace)
    assert row.pop("published_at").tzinfo is not None
    assert row == {
        "document": "me/7",
        "publisher": "me",
        "schema": "news",
        "fields": [("b", "2"), ("a", "1")],
        "sequence": 1,
        "content": b"<a/>\xff\x00",
    }


def test_publishing_a_document_again_is_a_no_op(workspace: Workspace) -> None:
    assert workspace.publish([*documents(3), *documents(2)]) == Published(3, 2)
    receipts = list(workspace.inbox.publish_each([*documents(1, start=2), *documents(1, start=9)]))
    assert [(each.sequence, each.new) for each in receipts] == [(3, False), (4, True)]
    assert workspace.publish(documents(3, publisher="other")) == Published(3, 0)
    assert workspace.publish([]) == Published(0, 0)
    assert [row["sequence"] for row in rows_in(workspace)] == list(range(1, 8))


def test_an_identity_given_by_the_publisher_takes_precedence(workspace: Workspace) -> None:
    first = Document(b"<a/>", Header(publisher="me", id="7"))
    second = Document(b"<b/>", Header(publisher="me", id="7"))
    assert workspace.publish([first, second]) == Published(1, 1)
    assert [row["content"] for row in rows_in(workspace)] == [b"<a/>"]


def test_files_and_entries_are_bounded(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_appender, "INBOX_FILE_BYTES", 600)
    monkeypatch.setattr(inbox, "PUBLISHED_AT_ONCE_MAX", 4)
    monkeypatch.setattr(journal_appender, "JOURNAL_ENTRY_BYTES", 50)
    sizes = [1, 1, 1, 1, 1, 40, 40, 60, 300, 2]
    workspace.publish(
        Document(b"x" * size, Header(publisher="me", id=str(number)))
        for number, size in enumerate(sizes)
    )
    entries = []
    for path in journal_files(workspace.inbox.folder):
        with JournalFile(path) as file:
            found = list(file.entries())
        assert found[-1].offset < 600
        entries += [(entry.first, entry.documents, entry.content_bytes) for entry in found]
    assert entries == [(1, 4, 4), (5, 2, 41), (7, 1, 40), (8, 1, 60), (9, 1, 300), (10, 1, 2)]
    assert len(journal_files(workspace.inbox.folder)) > 1
    assert [len(row["content"]) for row in rows_in(workspace)] == sizes


def test_headers_count_in_the_size_of_entries(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_appender, "JOURNAL_ENTRY_BYTES", 1_000)
    monkeypatch.setattr(journal, "JOURNAL_ROWS_BYTES_MAX", 3_000)
    fields = {"note": "x" * 400}
    workspace.publish(
        Document(b"<a/>", Header(publisher="me", id=str(number), fields=fields))
        for number in range(20)
    )
    (path,) = journal_files(workspace.inbox.folder)
    with JournalFile(path) as file:
        assert [entry.documents for entry in file.entries()] == [2] * 10


def test_file_names_sort_by_sequence(workspace: Workspace) -> None:
    for number in range(12):
        workspace.publish(documents(1, start=number))
    assert [row["sequence"] for row in rows_in(workspace)] == list(range(1, 13))


def test_a_document_that_is_too_large_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "DOCUMENT_BYTES_MAX", 3)
    with pytest.raises(PenstockError) as caught:
        workspace.publish(documents(1))
    assert caught.value.code == "limit.document-bytes"
    assert rows_in(workspace) == []


def publish_repeatedly(path: Path, publisher: str) -> Published:
    """Publish forty documents in another process, in five calls."""
    with Workspace.open(path) as workspace:
        done = [workspace.publish(documents(8, publisher, start)) for start in range(0, 40, 8)]
    return Published(sum(each.new for each in done), sum(each.known for each in done))


def test_processes_publish_concurrently(workspace: Workspace) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(4, mp_context=context) as pool:
        done = list(pool.map(publish_repeatedly, [workspace.path] * 4, ["a", "a", "b", "c"]))
    assert sum(each.new for each in done) == 120
    assert sum(each.known for each in done) == 40
    rows = rows_in(workspace)
    assert [row["sequence"] for row in rows] == list(range(1, 121))
    for publisher in "abc":
        numbers = [row["content"] for row in rows if row["publisher"] == publisher]
        assert numbers == [document.content for document in documents(40)]


# Kills and full disks.

PUBLISHER = """
    import os, signal, sys
    from pathlib import Path
    from penstock.documents import Document, Header
    from penstock.workspace import Workspace
    workspace = Workspace.open(sys.argv[1])
    kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    {prepare}
    workspace.publish([Document(b"<a/>", Header(publisher="me", id="1"))])
"""


def publish_in_a_process(workspace: Workspace, prepare: str) -> subprocess.CompletedProcess[str]:
    """Publish one document in another process, after running ``prepare`` there."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(PUBLISHER).format(prepare=prepare),
            str(workspace.path),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("where", "prepare", "published"),
    [
        (
            "before the entry is written",
            "import penstock.workspace.journal_appender as i; i.entry_parts = kill",
            False,
        ),
        (
            "in the middle of the header",
            "write = os.pwrite; os.pwrite = lambda d, b, o: (write(d, b[:20], o), kill())",
            False,
        ),
        (
            "before the last byte of the notes",
            "write = os.pwrite; os.pwrite = lambda d, b, o: (write(d, b[:-1], o), kill())",
            False,
        ),
        (
            "between notes and rows",
            "write = os.pwrite; os.pwrite = lambda d, b, o: (write(d, b, o), kill())",
            False,
        ),
        (
            "in the middle of the rows",
            "write = os.pwrite; os.pwrite = lambda d, b, o:"
            " write(d, b, o) if b[:4] == b'\\xf5PJ1' else (write(d, b[:-1], o), kill())",
            False,
        ),
        (
            "before the identity is indexed",
            "import penstock.workspace.journal_appender as i; i._index_rows = kill",
            True,
        ),
        ("before the flush", "import penstock.workspace.inbox as i; i.sync_file = kill", True),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_kill_neither_loses_nor_duplicates_documents(
    workspace: Workspace, where: str, prepare: str, published: bool, is_first: bool
) -> None:
    before = 0 if is_first else 2
    workspace.publish(documents(before))
    killed = publish_in_a_process(workspace, prepare)
    assert killed.returncode == -signal.SIGKILL, (where, killed.stderr)
    with Workspace.open(workspace.path) as again:
        assert len(rows_in(again)) == before + int(published)
        assert again.inbox.last_sequence() == before + int(published)
        document = Document(b"<a/>", Header(publisher="me", id="1"))
        assert again.publish([document]) == Published(int(not published), int(published))
        assert [row["sequence"] for row in rows_in(again)] == list(range(1, before + 2))
        assert again.inbox.damaged() == []


@pytest.mark.parametrize("appended", range(1, 6))
@pytest.mark.parametrize("is_first", [True, False])
def test_a_kill_between_the_files_of_a_group_neither_loses_nor_duplicates_documents(
    workspace: Workspace, appended: int, is_first: bool
) -> None:
    """A file takes two entries of these five; the killed process began up to three files."""
    before = 0 if is_first else 1
    workspace.publish(documents(before))
    killed = publish_in_a_process(
        workspace,
        "import penstock.workspace.journal_appender as i; encode = i.entry_parts;"
        " i.INBOX_FILE_BYTES, i.JOURNAL_ENTRY_BYTES, calls = 500, 1, []; i.entry_parts ="
        f" lambda *a: kill() if len(calls) == {appended} else (calls.append(1), encode(*a))[1];"
        " workspace.publish([Document(b'<a/>', Header(publisher='me', id=str(n)))"
        " for n in range(6)])",
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Workspace.open(workspace.path) as again:
        assert again.inbox.last_sequence() == before + appended
        group = [Document(b"<a/>", Header(publisher="me", id=str(n))) for n in range(6)]
        assert again.publish(group) == Published(6 - appended, appended)
        assert [row["sequence"] for row in rows_in(again)] == list(range(1, before + 7))
        assert again.inbox.damaged() == []


def test_a_kill_while_a_group_is_undone_leaves_no_gap(workspace: Workspace) -> None:
    """The disk is full after five entries in three files, and the process is killed then."""
    killed = publish_in_a_process(
        workspace,
        "import errno, penstock.workspace.journal_appender as i; encode = i.entry_parts;"
        " fail = lambda: (_ for _ in ()).throw(OSError(errno.ENOSPC, 'full'));"
        " i.INBOX_FILE_BYTES, i.JOURNAL_ENTRY_BYTES, calls = 500, 1, []; i.entry_parts ="
        " lambda *a: fail() if len(calls) == 5 else (calls.append(1), encode(*a))[1];"
        " unlink = Path.unlink; Path.unlink = lambda path: (unlink(path), kill());"
        " workspace.publish([Document(b'<a/>', Header(publisher='me', id=str(n)))"
        " for n in range(6)])",
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Workspace.open(workspace.path) as again:
        published = again.inbox.last_sequence()
        assert again.inbox.damaged() == []
        group = [Document(b"<a/>", Header(publisher="me", id=str(n))) for n in range(6)]
        assert again.publish(group) == Published(6 - published, published)
        assert [row["sequence"] for row in rows_in(again)] == list(range(1, 7))


def test_a_copy_of_the_journal_in_an_incomplete_entry_is_not_indexed(workspace: Workspace) -> None:
    """Its entries have the salt of the file; their numbers would be given again."""
    rng = random.Random(1)
    workspace.publish([Document(rng.randbytes(3_000), Header(publisher="me", id="1"))])
    (path,) = journal_files(workspace.inbox.folder)
    copy = rng.randbytes(300_000) + path.read_bytes() + rng.randbytes(300_000)
    workspace.publish(documents(2))
    salt = read_salt(path)
    assert salt is not None
    document = Document(copy, Header(publisher="me", id="copy"))
    entry = encode_entry(document_rows([("me/copy", document)], 4), salt)
    with path.open("ab") as file:
        file.write(entry[:-1])
    with Workspace.open(workspace.path) as again:
        (receipt,) = again.inbox.publish_each([document])
        assert receipt.sequence == 4
        assert [row["sequence"] for row in rows_in(again)] == [1, 2, 3, 4]


def test_entries_of_earlier_versions_are_compressed(workspace: Workspace) -> None:
    """Their rows have another length than the payload states."""
    workspace.publish(documents(3))
    expected = rows_in(workspace)
    (path,) = journal_files(workspace.inbox.folder)
    with JournalFile(path) as file:
        (entry,) = file.entries()
        rows = file.rows(entry).serialize()
    salt = read_salt(path)
    assert salt is not None
    payload = struct.pack("<IQ", 0, rows.size) + pa.compress(rows, codec="zstd", asbytes=True)
    sizes = (entry.first, entry.documents, len(payload), entry.content_bytes, zlib.crc32(payload))
    header = struct.pack("<4sQIQQI", b"\xf5PJ1", *sizes)
    checksum = struct.pack("<I", zlib.crc32(header + salt))
    path.write_bytes(path.read_bytes()[: entry.offset] + header + checksum + payload)
    assert len(payload) < rows.size
    assert rows_in(workspace) == expected


@pytest.mark.parametrize("note", range(10))
def test_numbers_in_the_rows_are_aligned(tmp_path: Path, note: int) -> None:
    """Whatever the length of the notes before them."""
    salt = new_file_header()
    batch = document_rows([("me/1", documents(1)[0]), ("me/2", documents(2)[1])], 1)
    notes = {"n": "x" * note} if note else {}
    path = tmp_path / file_name(1)
    path.write_bytes(salt + encode_entry(batch, salt_of(salt), notes))
    with JournalFile(path) as file:
        (entry,) = file.entries()
        rows = file.rows(entry)
        assert file.notes(entry) == notes
    assert rows == batch
    for column in rows.columns:
        assert all(buffer.address % 8 == 0 for buffer in column.buffers() if buffer is not None)


def test_files_with_other_names_are_ignored(workspace: Workspace) -> None:
    workspace.publish(documents(1))
    for name in ("backup.journal", "._0000000000000000001.journal", "1.journal"):
        (workspace.inbox.folder / name).write_bytes(b"")
    assert [path.name for path in journal_files(workspace.inbox.folder)] == [file_name(1)]
    assert workspace.inbox.find("1") is not None


FORKING_HOLDER = """
    import os, signal, sys
    from pathlib import Path
    from penstock.workspace.file_locks import file_lock
    lock = Path(sys.argv[1])
    with file_lock(lock, wait=False):
        child = os.fork()
        if not child:
            signal.pause()
    try:
        with file_lock(lock, wait=False):
            print("free")
    finally:
        os.kill(child, signal.SIGKILL)
"""


def test_a_child_of_the_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Publishers would wait for it until it exits."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORKING_HOLDER), str(tmp_path / "lock")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "free\n", done.stderr


def test_documents_of_a_killed_process_come_first(workspace: Workspace) -> None:
    publish_in_a_process(
        workspace, "import penstock.workspace.journal_appender as i; i._index_rows = kill"
    )
    workspace.publish(documents(1))
    assert [row["document"] == "me/1" for row in rows_in(workspace)] == [True, False]


def test_an_index_that_is_missing_can_be_restored_from_a_backup(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.publish(documents(2))
    workspace.close()
    path = workspace.path / "inbox.sqlite"
    backup = shutil.copy(path, tmp_path)
    with Workspace.open(workspace.path) as again:
        again.publish(documents(4))
    path.unlink()
    for read_only in (False, True):
        with pytest.raises(PenstockError) as caught:
            Workspace.open(workspace.path, read_only=read_only)
        assert caught.value.code == "workspace.damaged"
        assert not path.exists()
    shutil.copy(backup, path)
    with Workspace.open(workspace.path) as again:
        assert again.publish(documents(5)) == Published(1, 4)
        assert [row["sequence"] for row in rows_in(again)] == [1, 2, 3, 4, 5]
        assert again.inbox.damaged() == []


def test_publishing_costs_the_same_whatever_is_in_the_inbox(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It neither lists the folder nor reads documents that were published before."""
    workspace.publish(documents(3))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("publishing must not depend on the inbox")

    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr(JournalFile, "entries", refuse)
    assert workspace.publish(documents(4)) == Published(1, 3)


def test_a_scanner_reads_the_headers_of_a_range_only(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream scans each range twice: to find where the batch ends, and to divide it."""
    monkeypatch.setattr(inbox, "sync_file", lambda _: None)
    for number in range(60):
        workspace.publish(documents(1, start=number))
    read: list[int] = []
    entry_at = JournalFile._entry

    def count(file: JournalFile, offset: int) -> Entry | None:
        read.append(offset)
        return entry_at(file, offset)

    monkeypatch.setattr(JournalFile, "_entry", count)
    scanner = JournalScanner(workspace.inbox.folder)
    for after in range(0, 60, 20):
        for found in scanner.scan(after, 60):
            if found.last == after + 20:
                break
        numbers = [each.first for each in scanner.scan(after, after + 20)]
        assert numbers == list(range(after + 1, after + 21))
    assert len(read) <= 2 * 60 + 6


def test_a_writer_of_subscriptions_does_not_delay_publishers(workspace: Workspace) -> None:
    with workspace._database.write_transaction():
        assert workspace.publish(documents(1)) == Published(1, 0)


def test_a_receipt_for_a_known_document_waits_for_the_disk(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first publisher may not have flushed it yet."""
    workspace.publish(documents(1))
    flushed: list[Path] = []
    monkeypatch.setattr(inbox, "sync_file", flushed.append)
    assert workspace.publish(documents(1)) == Published(0, 1)
    assert flushed == journal_files(workspace.inbox.folder)


def test_an_interrupt_after_the_commit_removes_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index names the documents then; their bytes must stay."""
    commit = workspace.inbox._index.write_transaction

    @contextlib.contextmanager
    def interrupted() -> Iterator[sqlite3.Connection]:
        with commit() as connection:
            yield connection
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(workspace.inbox._index, "write_transaction", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workspace.publish(documents(2))
    assert workspace.publish(documents(3)) == Published(1, 2)
    assert [row["sequence"] for row in rows_in(workspace)] == [1, 2, 3]
    assert workspace.inbox.damaged() == []


def test_a_file_that_retention_has_removed_needs_no_flush(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes may deliver the documents, and begin a file, before this one flushes."""

    def remove_and_flush(path: Path) -> None:
        path.unlink()
        sync_file(path)

    monkeypatch.setattr(inbox, "sync_file", remove_and_flush)
    assert workspace.publish(documents(1)) == Published(1, 0)


@pytest.mark.parametrize("number", ["ENOSPC", "EDQUOT"])
def test_a_full_disk_publishes_no_part_of_a_file(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    workspace.publish(documents(1))

    def write_a_part(descriptor: int, content: bytes, offset: int) -> int:
        if len(content) < 100:
            raise OSError(getattr(errno, number), "the disk is full")
        return write(descriptor, content[:-50], offset)

    write = os.pwrite
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", write_a_part)
        with pytest.raises(PenstockError) as caught:
            workspace.publish(documents(3))
    assert caught.value.code == "workspace.full"
    assert len(rows_in(workspace)) == 1
    assert workspace.publish(documents(3)) == Published(2, 1)


def test_a_disk_that_turns_out_to_be_full_in_the_flush_is_reported(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Network file systems report it then."""

    def fail(_: Path) -> None:
        raise OSError(errno.EDQUOT, "the quota is exceeded")

    with monkeypatch.context() as patch:
        patch.setattr(inbox, "sync_file", fail)
        with pytest.raises(PenstockError) as caught:
            workspace.publish(documents(1))
    assert caught.value.code == "workspace.full"
    workspace.publish(documents(2))
    assert [row["sequence"] for row in rows_in(workspace)] == [1, 2]


def test_a_limit_on_file_sizes_is_reported_as_a_full_disk(workspace: Workspace) -> None:
    """The limit leaves room for SQLite's log but not for the document."""
    done = publish_in_a_process(
        workspace,
        "import resource, random; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000));"
        " big = Document(random.Random(1).randbytes(400_000),"
        ' Header(publisher="me", id="1")); workspace.publish([big])',
    )
    assert "workspace.full" in done.stderr
    with Workspace.open(workspace.path) as again:
        assert rows_in(again) == []
        assert again.publish(documents(1)) == Published(1, 0)


ENDLESS_PUBLISHER = """
    import sys
    from penstock.documents import Document, Header
    from penstock.workspace import Workspace
    workspace = Workspace.open(sys.argv[1])
    for number in range(1000):
        header = Header(publisher="me", id=f"{sys.argv[2]}-{number}")
        for receipt in workspace.inbox.publish_each([Document(b"<a/>", header)]):
            print(receipt.identity, flush=True)
"""


def test_documents_with_a_receipt_survive_a_kill_at_any_time(workspace: Workspace) -> None:
    rng = random.Random(20260501)
    receipts: list[str] = []
    for attempt in range(5):
        publisher = subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(ENDLESS_PUBLISHER),
                str(workspace.path),
                str(attempt),
            ],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert publisher.stdout is not None
        receipts.append(publisher.stdout.readline().strip())
        time.sleep(rng.uniform(0, 0.2))
        publisher.kill()
        receipts += publisher.communicate()[0].split()
    with Workspace.open(workspace.path) as again:
        rows = rows_in(again)
    identities = [row["document"] for row in rows]
    assert len(set(identities)) == len(identities)
    assert set(receipts) <= set(identities)
    assert len(identities) <= len(receipts) + 5, "a kill may hide the receipt of one document"
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
