"""Damaged inbox files: the readable documents are found, the others are set aside and restored."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.errors import WorkspaceError
from penstock.workspace import Published, Workspace, journal_appender, limits
from penstock.workspace.inbox import DamagedDocuments
from penstock.workspace.journal import (
    HEADER_BYTES,
    JournalFile,
    document_rows,
    encode_entry,
    journal_files,
)
from penstock.workspace.journal_scanner import Found, JournalScanner, Missing
from penstock.workspace.retention import removals
from penstock.workspace.retention_policy import RetentionPolicy
from python_targets import journal_files as journal_target


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """Two files of three entries with one document each, and an empty one to append to."""
    with Workspace.create(tmp_path / "w") as created:
        for number in range(1, 7):
            if number == 4:
                monkeypatch.setattr(journal_appender, "INBOX_FILE_BYTES", 1)
            created.publish([document(number)])
            if number == 4:
                monkeypatch.undo()
        assert len(journal_files(created.inbox.folder)) == 2
        yield created


def document(number: int) -> Document:
    return Document(b"<a>%d</a>" % number, Header(publisher="me", id=str(number)))


def scanned(workspace: Workspace) -> list[int]:
    """The sequence numbers of all readable documents; the others are recorded as damaged."""
    found: list[int] = []
    last = workspace.inbox.last_sequence()
    for each in JournalScanner(workspace.inbox.folder).scan(0, last, verify=True):
        if isinstance(each, Missing):
            workspace.inbox.record_damage(each)
        else:
            found += range(each.first, each.last + 1)
    return found


def entry_offsets(path: Path) -> list[int]:
    with JournalFile(path) as file:
        return [entry.offset for entry in file.entries()]


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x10
    path.write_bytes(content)


def truncate(path: Path) -> None:
    os.truncate(path, entry_offsets(path)[1] + 10)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def replace(path: Path) -> None:
    path.write_bytes(b"this is not a journal file\n" * 20)


def flip_payload(path: Path) -> None:
    flip(path, entry_offsets(path)[1] + HEADER_BYTES + 20)


def flip_header(path: Path) -> None:
    flip(path, entry_offsets(path)[1] + 5)


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (truncate, [2, 3]),
        (empty, [1, 2, 3]),
        (replace, [1, 2, 3]),
        (flip_payload, [2]),
        (flip_header, [2]),
        (Path.unlink, [1, 2, 3]),
    ],
)
def test_damaged_documents_are_set_aside_and_restored(
    workspace: Workspace, tmp_path: Path, damage: Callable[[Path], None], lost: list[int]
) -> None:
    path = journal_files(workspace.inbox.folder)[0]
    good = tmp_path / path.name
    shutil.copy(path, good)
    damage(path)
    assert scanned(workspace) == [number for number in range(1, 7) if number not in lost]
    (damaged,) = workspace.inbox.damaged()
    assert (damaged.first, damaged.last, damaged.documents) == (lost[0], lost[-1], len(lost))
    if damage is not Path.unlink:
        assert damaged.file == path.name
        assert (workspace.inbox.damaged_folder / path.name).exists()
    # Everything else is processed: the damaged documents still wait.
    assert workspace.inbox.count_after(6) == len(lost)
    assert workspace.status().damaged == (damaged,)
    assert workspace.inbox.restore(good) == len(lost)
    assert workspace.inbox.damaged() == []
    assert workspace.inbox.count_after(6) == len(lost), "they wait under their new numbers"
    again = range(7, 7 + len(lost))
    assert scanned(workspace)[-len(lost) :] == list(again)
    for old, new in zip(lost, again, strict=True):
        restored = workspace.inbox.find(str(new))
        assert restored is not None
        assert restored.content == document(old).content
    assert workspace.inbox.restore(good) == 0
    assert workspace.publish([document(number) for number in lost]) == Published(0, len(lost))


def test_the_last_file_goes_on_after_damage(workspace: Workspace) -> None:
    path = journal_files(workspace.inbox.folder)[-1]
    flip_payload(path)
    assert workspace.publish([document(7)]) == Published(1, 0)
    assert scanned(workspace) == [1, 2, 3, 4, 6, 7]


def test_a_truncated_last_file_is_noticed_by_the_next_publisher(workspace: Workspace) -> None:
    """Its documents may have lost their bytes in a power failure, before any receipt."""
    path = journal_files(workspace.inbox.folder)[-1]
    truncate(path)
    assert workspace.publish([document(6), document(7)]) == Published(2, 0)
    reason = "the file is truncated"
    assert workspace.inbox.damaged() == [DamagedDocuments(path.name, reason, 5, 5)]
    assert scanned(workspace) == [1, 2, 3, 4, 7, 8]


def test_documents_published_again_are_not_restored(workspace: Workspace, tmp_path: Path) -> None:
    path = journal_files(workspace.inbox.folder)[0]
    shutil.copy(path, tmp_path)
    empty(path)
    scanned(workspace)
    assert workspace.publish([document(2)]) == Published(1, 0)
    assert [(each.first, each.last) for each in workspace.inbox.damaged()] == [(1, 1), (3, 3)]
    assert workspace.inbox.count_after(6) == 3
    assert workspace.inbox.restore(tmp_path / path.name) == 2
    assert workspace.inbox.count_after(6) == 3
    assert scanned(workspace) == [4, 5, 6, 7, 8, 9]
    contents = [workspace.inbox.find(str(number)) for number in (7, 8, 9)]
    assert contents == [document_as_found(number) for number in (2, 1, 3)]


def test_damaged_documents_that_are_published_again_wait_once(workspace: Workspace) -> None:
    for path in journal_files(workspace.inbox.folder):
        empty(path)
    assert scanned(workspace) == []
    assert workspace.publish([document(5), document(4), document(2)]) == Published(3, 0)
    assert [(each.first, each.last) for each in workspace.inbox.damaged()] == [
        (1, 1),
        (3, 3),
        (6, 6),
    ]
    assert workspace.inbox.count_after(6) == 6
    assert workspace.inbox.count_after(9) == 3
    for path in journal_files(workspace.inbox.folder)[:2]:
        path.unlink()
    assert scanned(workspace) == [7, 8, 9]
    assert len(workspace.inbox.damaged()) == 3


def test_a_replay_that_was_damaged_has_the_outcome_of_its_restoration(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.inbox.republish(
        [("me/1", document(1)), ("me/2", document(2))], [(1, True), (2, True)]
    )
    path = journal_files(workspace.inbox.folder)[-1]
    shutil.copy(path, tmp_path)
    flip(path, entry_offsets(path)[-1] + HEADER_BYTES + 30)
    assert scanned(workspace) == [1, 2, 3, 4, 5, 6]
    assert workspace.publish([document(2)]) == Published(1, 0)
    assert workspace.inbox.restore(tmp_path / path.name) == 1
    replays = workspace.inbox.replays()
    assert {key: each.sequence for key, each in replays.items()} == {
        ("me/1", 1): 10,
        ("me/2", 2): 9,
    }


def document_as_found(number: int) -> Document:
    """The identity is not part of a header that was read from the journal."""
    return Document(document(number).content, Header(publisher="me"))


def test_what_a_damaged_file_still_has_can_be_restored_in_parts(workspace: Workspace) -> None:
    path = journal_files(workspace.inbox.folder)[0]
    whole = path.read_bytes()
    empty(path)
    scanned(workspace)
    copy = workspace.inbox.damaged_folder / path.name
    copy.unlink()
    copy.write_bytes(whole)
    flip_payload(copy)
    assert workspace.inbox.restore(copy) == 2
    assert [(each.first, each.last) for each in workspace.inbox.damaged()] == [(2, 2)]
    copy.write_bytes(whole)
    assert workspace.inbox.restore(copy) == 1
    assert workspace.inbox.damaged() == []


def test_a_document_that_looks_like_an_entry_is_not_mistaken_for_one(workspace: Workspace) -> None:
    """The search for the next entry finds headers with the file's salt only."""
    path = journal_files(workspace.inbox.folder)[-1]
    forged = encode_entry(document_rows([("me/9", document(9))], 6), bytes(8))
    offsets = entry_offsets(path)
    content = path.read_bytes()
    path.write_bytes(content[: offsets[1]] + forged + content[offsets[1] + len(forged) :])
    assert offsets[1] not in entry_offsets(path)


@settings(max_examples=20)  # each flushes files to disk
@given(
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4)
)
def test_every_document_is_found_unchanged_or_reported(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[float, int]]
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Workspace.create(folder) as workspace:
        for number in range(1, 5):
            workspace.publish([document(number)])
        (path,) = journal_files(workspace.inbox.folder)
        content = bytearray(path.read_bytes())
        for place, value in damage:
            content[int(place * len(content))] = value
        path.write_bytes(content)
        seen: list[int] = []
        for each in JournalScanner(workspace.inbox.folder).scan(0, 4, verify=True):
            seen += range(each.first, each.last + 1)
            if isinstance(each, Found):
                with JournalFile(path) as file:
                    rows = file.rows(each.entry).to_pylist()
                assert [row["content"] for row in rows] == [document(each.first).content]
        assert seen == [1, 2, 3, 4]


@settings(max_examples=200)
@given(
    seed=st.sampled_from(journal_target.seeds()),
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=8)), max_size=4
    ),
    end=st.floats(0, 1),
    behind=st.binary(max_size=40),
)
def test_a_reader_finds_intact_entries_or_damage_in_any_bytes(
    seed: bytes, changes: list[tuple[float, bytes]], end: float, behind: bytes
) -> None:
    """Bytes changed, truncated and appended, in files and in entries with right checksums."""
    content = bytearray(seed[1:])
    for place, change in changes:
        start = int(place * len(content))
        content[start : start + len(change)] = change
    journal_target.run_input(seed[:1] + content[: int(end * len(content))] + behind)


def test_an_entry_cannot_claim_more_memory_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "1.journal"
    lengths = struct.pack("<IQ", 0, limits.JOURNAL_ROWS_BYTES_MAX + 1)
    compressed: bytes = pa.compress(b"x" * 100, codec="zstd", asbytes=True)
    path.write_bytes(b"\xf5PENSJ1\nsaltsalt" + journal_target.with_checksums(lengths + compressed))
    with JournalFile(path) as file:
        (entry,) = file.entries()
        with pytest.raises(WorkspaceError) as caught:
            file.rows(entry)
    assert caught.value.code == "journal.damaged"


@settings(max_examples=30)  # each flushes files to disk
@given(content=st.binary(max_size=200), is_appended=st.booleans())
def test_publishing_goes_on_whatever_the_last_file_contains(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, is_appended: bool
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Workspace.create(folder) as workspace:
        workspace.publish([document(1), document(2)])
        (path,) = journal_files(workspace.inbox.folder)
        path.write_bytes(path.read_bytes() + content if is_appended else content)
        with Workspace.open(folder) as again:
            workspace.publish([document(3)])
            assert scanned(again) == ([1, 2, 3] if is_appended else [3])
            assert again.inbox.count_after(3) == (0 if is_appended else 2)


def test_an_entry_that_is_damaged_after_it_was_found_is_not_read(workspace: Workspace) -> None:
    path = journal_files(workspace.inbox.folder)[0]
    with JournalFile(path) as file:
        entry = next(iter(file.entries()))
        assert file.rows(entry).num_rows == 1
        content = bytearray(path.read_bytes())
        content[entry.offset + HEADER_BYTES + 30] ^= 1
        path.write_bytes(content)
        for read in (file.rows, file.notes):
            with pytest.raises(WorkspaceError) as caught:
                read(entry)
            assert caught.value.code == "journal.damaged"


def test_an_entry_that_memory_does_not_suffice_for_is_not_damaged(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would be cut off as an incomplete one."""
    path = journal_files(workspace.inbox.folder)[-1]
    with workspace.inbox._index.write_transaction() as connection:  # as after a power failure
        connection.execute("UPDATE position SET offset = ?, next = 6", (entry_offsets(path)[2],))

    def fail(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc failed")

    with monkeypatch.context() as patch:
        patch.setattr(pa.ipc, "read_record_batch", fail)
        with pytest.raises(MemoryError):
            workspace.publish([document(7)])
    (receipt,) = workspace.inbox.publish_each([document(7)])
    assert receipt.sequence == 7
    assert scanned(workspace) == [1, 2, 3, 4, 5, 6, 7]


def test_a_file_kept_aside_is_removed_when_its_documents_are_restored(
    workspace: Workspace, tmp_path: Path
) -> None:
    for path in journal_files(workspace.inbox.folder):
        shutil.copy(path, tmp_path)
        flip_payload(path)
    scanned(workspace)
    kept, other = sorted(workspace.inbox.damaged_folder.iterdir())
    later = datetime.now(UTC) + timedelta(days=2)
    policy = RetentionPolicy()
    assert removals(workspace, policy=policy, now=later) == []
    assert workspace.inbox.restore(tmp_path / kept.name) == 1
    (removal,) = removals(workspace, policy=policy, now=later)
    assert (removal.count, removal.bytes) == (1, kept.stat().st_size)
    removal.remove()
    assert list(workspace.inbox.damaged_folder.iterdir()) == [other]


def test_a_file_kept_aside_stays_if_it_is_damaged_again_before_its_removal(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = journal_files(workspace.inbox.folder)[0]
    shutil.copy(path, tmp_path)
    flip_payload(path)
    scanned(workspace)
    workspace.inbox.restore(tmp_path / path.name)
    files = workspace.inbox.restored_files()
    workspace.inbox.record_damage(Missing(1, 1, path, "the checksum of an entry is wrong"))
    workspace.inbox.remove_restored_files(files)
    assert files == list(workspace.inbox.damaged_folder.iterdir())
