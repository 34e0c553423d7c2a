"""References to entries of the journal: a task that reads them gets the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.pipeline.inbox_source import InboxReader, InboxSourceOptions
from penstock.pipeline.journal_references import REFERENCES, read_references
from penstock.workspace import Workspace


def rows_of(options: InboxSourceOptions) -> pa.Table:
    """What the tasks of a batch read, in the order of the tasks."""
    reader = InboxReader(options)
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return pa.Table.from_batches(batches)


@settings(max_examples=20)  # each flushes files to disk
@given(groups=st.lists(st.integers(1, 5), min_size=1, max_size=4), data=st.data())
def test_references_stand_for_the_same_documents(
    tmp_path_factory: pytest.TempPathFactory, groups: Sequence[int], data: st.DataObject
) -> None:
    """Entries of any number of documents, and ranges that begin and end within entries."""
    folder: Path = tmp_path_factory.mktemp("inbox")
    with Workspace.create(folder) as workspace:
        for number, size in enumerate(groups):
            workspace.publish(
                Document(b"<a>%d</a>" % each, Header(publisher=f"p{number}", fields={"f": "v"}))
                for each in range(size)
            )
    last = sum(groups)
    after = data.draw(st.integers(0, last - 1))
    upto = data.draw(st.integers(after + 1, last))
    documents = rows_of(InboxSourceOptions(workspace=str(folder), after=after, upto=upto))
    assert documents.column("sequence").to_pylist() == list(range(after + 1, upto + 1))
    references = rows_of(
        InboxSourceOptions(workspace=str(folder), after=after, upto=upto, as_references=True)
    )
    assert references.schema == REFERENCES
    assert "content" not in references.column_names
    found = pa.Table.from_batches(read_references(references.to_batches()))
    assert found == documents.combine_chunks()
