"""References to entries of the journal: a task that reads them gets the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.errors import WorkspaceError
from penstock.pipeline.inbox_source import InboxReader, InboxSourceOptions
from penstock.pipeline.journal_references import (
    REFERENCES,
    JournalRange,
    JournalTasks,
    reference_rows,
)
from penstock.workspace import Workspace
from penstock.workspace.journal import JournalFile, journal_files
from penstock.workspace.journal_scanner import Found, Missing
from penstock.workspace.table_schemas import DOCUMENTS


def rows_of(options: InboxSourceOptions) -> pa.Table:
    """What the tasks of a batch read, in the order of the tasks."""
    reader = InboxReader(options)
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return pa.Table.from_batches(batches, REFERENCES if options.as_references else DOCUMENTS)


@settings(max_examples=20)  # each flushes files to disk
@given(groups=st.lists(st.integers(1, 5), min_size=1, max_size=4), data=st.data())
def test_references_stand_for_the_same_documents(
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
    references = rows_of(
        InboxSourceOptions(workspace=str(folder), after=after, upto=upto, as_references=True)
    )
    assert references.schema == REFERENCES
    assert "content" not in references.column_names
    ranges = [JournalRange(*list(row.values())[1:]) for row in references.to_pylist()]
    numbers = pa.record_batch({"id": [0]})
    found = pa.Table.from_batches(JournalTasks([ranges]).read([numbers]), DOCUMENTS)
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


def test_consecutive_entries_are_one_reference(journal: Path) -> None:
    one, two, three, four = entries_of(journal)
    rows = reference_rows([[one, two], [three, four]]).to_pylist()
    assert [(row["task"], row["first"], row["last"]) for row in rows] == [(0, 1, 2), (1, 3, 4)]


def test_entries_around_a_damaged_one_are_two_references(journal: Path) -> None:
    one, _, three, four = entries_of(journal)
    rows = reference_rows([[one, three, four]]).to_pylist()
    assert [(row["task"], row["first"], row["last"]) for row in rows] == [(0, 1, 1), (0, 3, 4)]


def test_a_header_that_was_damaged_after_planning_ends_the_task(journal: Path) -> None:
    """The documents behind it must not be taken for the missing ones, nor be skipped."""
    _, second, _, _ = entries_of(journal)
    (row,) = reference_rows([entries_of(journal)]).to_pylist()
    content = bytearray(journal.read_bytes())
    content[second.entry.offset] ^= 1
    journal.write_bytes(content)
    planned = JournalRange(*list(row.values())[1:])
    with pytest.raises(WorkspaceError) as refused:
        list(planned.entries())
    assert refused.value.code == "journal.damaged"


def test_a_file_that_was_truncated_after_planning_ends_the_task(journal: Path) -> None:
    *_, last = entries_of(journal)
    (row,) = reference_rows([entries_of(journal)]).to_pylist()
    journal.write_bytes(journal.read_bytes()[: last.entry.offset])
    planned = JournalRange(*list(row.values())[1:])
    with pytest.raises(WorkspaceError) as refused:
        list(planned.entries())
    assert refused.value.code == "journal.damaged"
