"""Publishing: each document once, in order and atomically, whatever kills the process."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.documents import Document, Header
from penstock.errors import PenstockError
from penstock.workspace import Published, Workspace, inbox
from penstock.workspace.table_schemas import DOCUMENTS
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
    paths = sorted(workspace.inbox.folder.iterdir())
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


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
    (path,) = workspace.inbox.folder.iterdir()
    assert pq.read_schema(path).equals(DOCUMENTS)


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


def test_files_and_row_groups_are_bounded(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "INBOX_FILE_BYTES", 100)
    monkeypatch.setattr(inbox, "INBOX_FILE_DOCUMENTS", 4)
    monkeypatch.setattr(inbox, "INBOX_ROW_GROUP_BYTES", 50)
    sizes = [1, 1, 1, 1, 1, 40, 40, 60, 300, 2]
    workspace.publish(
        Document(b"x" * size, Header(publisher="me", id=str(number)))
        for number, size in enumerate(sizes)
    )
    files = [pq.ParquetFile(path) for path in sorted(workspace.inbox.folder.iterdir())]
    groups = [
        [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        for file in files
    ]
    assert groups == [[4], [2, 1], [1], [1], [1]]
    assert [len(row["content"]) for row in rows_in(workspace)] == sizes


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
            "while the file is written",
            "import pyarrow.parquet as p; p.ParquetWriter.write_table = kill",
            False,
        ),
        (
            "before the commit",
            "import penstock.workspace.atomic_files as d; d.sync_directory = kill",
            False,
        ),
        ("before the rename", "workspace.inbox.move_staged = kill", True),
        ("after the rename", "import penstock.workspace.inbox as i; i.sync_directory = kill", True),
    ],
)
def test_a_kill_neither_loses_nor_duplicates_documents(
    workspace: Workspace, where: str, prepare: str, published: bool
) -> None:
    killed = publish_in_a_process(workspace, prepare)
    assert killed.returncode == -signal.SIGKILL, (where, killed.stderr)
    with Workspace.open(workspace.path) as again:
        assert len(rows_in(again)) == int(published)
        assert list((again.path / "staging").iterdir()) == []
        document = Document(b"<a/>", Header(publisher="me", id="1"))
        assert again.publish([document]) == Published(int(not published), int(published))
        assert [row["sequence"] for row in rows_in(again)] == [1]


def test_documents_of_a_killed_process_come_first(workspace: Workspace) -> None:
    publish_in_a_process(workspace, "workspace.inbox.move_staged = kill")
    workspace.publish(documents(1))
    assert [row["document"] == "me/1" for row in rows_in(workspace)] == [True, False]


@pytest.mark.parametrize("number", ["ENOSPC", "EDQUOT"])
def test_a_full_disk_publishes_no_part_of_a_file(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    import errno

    workspace.publish(documents(1))

    class Full(pq.ParquetWriter):
        def write_table(self, *_: object, **__: object) -> None:
            raise OSError(getattr(errno, number), "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(pq, "ParquetWriter", Full)
        with pytest.raises(PenstockError) as caught:
            workspace.publish(documents(3))
    assert caught.value.code == "workspace.full"
    assert len(rows_in(workspace)) == 1
    assert list((workspace.path / "staging").iterdir()) == []
    assert workspace.publish(documents(3)) == Published(2, 1)


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
