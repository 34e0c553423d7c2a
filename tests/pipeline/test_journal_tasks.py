"""Tasks that read the journal get the documents that were planned, or end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.errors import WorkspaceError
from penstock.pipeline.inbox_batches import InboxBatches
from penstock.pipeline.inbox_source import InboxReader, InboxSourceOptions
from penstock.pipeline.inbox_tasks import grouped, plan_tasks, task_count
from penstock.pipeline.journal_tasks import JournalTasks
from penstock.workspace import Workspace
from penstock.workspace.journal import Entry, JournalFile, journal_files
from penstock.workspace.journal_scanner import Found, JournalScanner, Missing
from penstock.workspace.table_schemas import DOCUMENTS


def rows_of(options: InboxSourceOptions) -> pa.Table:
    """What the tasks of a batch read, in the order of the tasks."""
    reader = InboxReader(options)
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return pa.Table.from_batches(batches, DOCUMENTS)


@settings(max_examples=20)  # each flushes files to disk
@given(groups=st.lists(st.integers(1, 5), min_size=1, max_size=4), data=st.data())
def test_tasks_read_the_same_documents_as_the_data_source(
    tmp_path_factory: pytest.TempPathFactory, groups: Sequence[int], data: st.DataObject
) -> None:
    """Ranges that begin and end within entries, and documents in between that are set aside."""
    folder: Path = tmp_path_factory.mktemp("inbox")
    last = sum(groups)
    damaged = data.draw(st.sets(st.integers(2, max(2, last - 1)), max_size=3))
    with Workspace.create(folder) as workspace:
        for number, size in enumerate(groups):
            workspace.publish(
                Document(b"<a>%d</a>" % each, Header(publisher=f"p{number}", fields={"f": "v"}))
                for each in range(size)
            )
        for number in damaged:
            workspace.inbox.record_damage(Missing(number, number, None, "the file is missing"))
    after = data.draw(st.integers(0, last - 1))
    upto = data.draw(st.integers(after + 1, last))
    documents = rows_of(InboxSourceOptions(workspace=str(folder), after=after, upto=upto))
    intact = [number for number in range(after + 1, upto + 1) if number not in damaged]
    assert documents.column("sequence").to_pylist() == intact
    with Workspace.open(folder) as workspace:
        scanner = JournalScanner(workspace.inbox.folder)
        tasks = JournalTasks.of(plan_tasks(workspace.inbox, scanner, after, upto, slots=2))
    numbers = pa.record_batch({"id": list(range(len(tasks.ranges)))})
    found = pa.Table.from_batches(tasks.read([numbers]), DOCUMENTS)
    assert found.combine_chunks() == documents.combine_chunks()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal file of four entries, with one document each."""
    with Workspace.create(tmp_path / "workspace") as workspace:
        for number in range(1, 5):
            content = b"<a>%d</a>" % number
            workspace.publish([Document(content, Header(publisher="p", id=str(number)))])
        (path,) = journal_files(workspace.inbox.folder)
    return path


def entries_of(path: Path) -> list[Found]:
    with JournalFile(path) as file:
        return [Found(path, entry, entry.first, entry.last) for entry in file.entries()]


def bounds_of(tasks: JournalTasks) -> list[list[tuple[int, int]]]:
    return [[(each.first, each.last) for each in ranges] for ranges in tasks.ranges]


def test_consecutive_entries_are_one_range(journal: Path) -> None:
    one, two, three, four = entries_of(journal)
    assert bounds_of(JournalTasks.of([[one, two], [three, four]])) == [[(1, 2)], [(3, 4)]]


def test_entries_around_a_damaged_one_are_two_ranges(journal: Path) -> None:
    one, _, three, four = entries_of(journal)
    assert bounds_of(JournalTasks.of([[one, three, four]])) == [[(1, 1), (3, 4)]]


def test_a_header_that_was_damaged_after_planning_ends_the_task(journal: Path) -> None:
    """The documents behind it must not be taken for the missing ones, nor be skipped."""
    _, second, _, _ = entries_of(journal)
    ((planned,),) = JournalTasks.of([entries_of(journal)]).ranges
    content = bytearray(journal.read_bytes())
    content[second.entry.offset] ^= 1
    journal.write_bytes(content)
    with pytest.raises(WorkspaceError) as refused:
        list(planned.entries())
    assert refused.value.code == "journal.damaged"


def test_a_file_that_was_truncated_after_planning_ends_the_task(journal: Path) -> None:
    *_, last = entries_of(journal)
    ((planned,),) = JournalTasks.of([entries_of(journal)]).ranges
    journal.write_bytes(journal.read_bytes()[: last.entry.offset])
    with pytest.raises(WorkspaceError) as refused:
        list(planned.entries())
    assert refused.value.code == "journal.damaged"


@given(
    sizes=st.lists(st.integers(0, 40 << 20), max_size=60),
    slots=st.one_of(st.none(), st.integers(1, 64)),
)
def test_tasks_have_about_the_same_size(sizes: Sequence[int], slots: int | None) -> None:
    entries = [
        Found(Path("file"), Entry(0, number, 1, size, size, 0), number, number)
        for number, size in enumerate(sizes)
    ]
    groups = list(grouped(entries, slots))
    assert [each for group in groups for each in group] == entries
    count = task_count(sum(sizes), slots)
    assert len(groups) <= count
    for group in groups:
        size = sum(each.entry.content_bytes for each in group)
        assert size <= sum(sizes) / count + max(sizes) + 1


def test_the_range_of_a_batch_is_read_from_the_offset_log(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    batches = InboxBatches("workspace", str(tmp_path), 7)
    assert batches.range(0) is None
    (offsets / "0").write_text('v1\n{"batchWatermarkMs":0}\n{"sequence": 12}')
    assert batches.range(0) == (7, 12)
    assert batches.range(1) is None
    (offsets / "1").write_text('v1\n{"batchWatermarkMs":0}\n{"sequence": 15}')
    assert batches.range(1) == (12, 15)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1\n{}\n",
        "v1\n{}\n{",
        "v1\n{}\n-",
        "v1\n{}\n7",
        'v1\n{}\n{"sequence": "7"}',
        'v1\n{}\n{"sequence": 7}\n{"sequence": 7}',
        'v2\n{}\n{"sequence": 7}',
    ],
)
def test_an_offset_in_another_format_is_not_guessed(tmp_path: Path, text: str) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text(text)
    assert InboxBatches("workspace", str(tmp_path), 0).range(0) is None
