"""Recent deliveries: merged while they are few, then moved to the buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from penstock.workspace import delivery_writer, recent_deliveries, recent_files
from penstock.workspace.commit_positions import ORDINAL_BITS
from penstock.workspace.delivery_ids import delivery_ids
from penstock.workspace.delivery_writer import DeliveryWriter
from penstock.workspace.delta import WrittenFile, commit_batch, last_committed_batch
from penstock.workspace.limits import RECENT_FILES_MAX
from penstock.workspace.mailbox import Mailbox
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.recent_deliveries import compact_recent
from penstock.workspace.recent_files import RecentFile
from penstock.workspace.subscriber_buckets import RECENT, bucket_of
from penstock.workspace.table_schemas import DELIVERIES
from penstock.workspace.timestamps import utc_now

SUBSCRIBERS = [f"s{number}" for number in range(100)]
FRAGMENT = {"kind": "element", "spans": [{"start": 0, "end": 4}], "xml": "<a/>"}


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    created = Tables(str(tmp_path))
    created.create()
    return created


def write(tables: Tables, subscribers: list[str], *, batch: int) -> list[WrittenFile]:
    rows = [
        {
            "delivery": f"{batch}/{number}",
            "subscriber": subscriber,
            "subscription": f"of {subscriber}",
            "document": f"d{batch}",
            "publisher": "p",
            "sequence": batch,
            "published_at": utc_now(),
            "delivered_at": utc_now(),
            "batch": batch,
            "fragments": [FRAGMENT] if number % 2 else None,
            "bucket": RECENT,
            "content_digest": b"digest",
            "position": (batch + 1 << ORDINAL_BITS) + number,
        }
        for number, subscriber in enumerate(subscribers)
    ]
    writer = DeliveryWriter(tables.deliveries, DELIVERIES)
    writer.write(pa.Table.from_pylist(rows, schema=DELIVERIES))
    return writer.close()


def commit(tables: Tables, batch: int) -> None:
    files = write(tables, SUBSCRIBERS, batch=batch)
    commit_batch(tables.deliveries, files, stream="s", batch=batch)


def rows_of(tables: Tables) -> list[dict[str, Any]]:
    found: Any = DeltaTable(tables.deliveries).to_pyarrow_table()
    rows: list[dict[str, Any]] = found.drop_columns("bucket").to_pylist()
    return sorted(rows, key=lambda row: str(row["delivery"]))


def buckets_in(tables: Tables) -> set[int]:
    found: Any = DeltaTable(tables.deliveries).to_pyarrow_table(columns=["bucket"])
    return set(found.column("bucket").to_pylist())


def test_few_recent_files_are_left_alone(tables: Tables) -> None:
    commit(tables, 0)
    assert compact_recent(tables.deliveries) == 0
    assert len(DeltaTable(tables.deliveries).file_uris()) == 1


def test_many_recent_files_become_one_that_is_sorted(tables: Tables) -> None:
    for batch in range(RECENT_FILES_MAX + 1):
        commit(tables, batch)
    before = rows_of(tables)
    assert compact_recent(tables.deliveries) == RECENT_FILES_MAX + 1
    assert rows_of(tables) == before
    (file,) = DeltaTable(tables.deliveries).file_uris()
    content: Any = pq.read_table(file, partitioning=None)
    subscribers: list[str] = content.column("subscriber").to_pylist()
    assert subscribers == sorted(subscribers)
    # The transaction of the last batch survives, and the next batch can be committed.
    assert last_committed_batch(tables.deliveries, "s") == RECENT_FILES_MAX
    commit(tables, RECENT_FILES_MAX + 1)
    assert len(rows_of(tables)) == len(before) + len(SUBSCRIBERS)


def test_many_bytes_of_recent_deliveries_move_to_the_buckets(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(3):
        commit(tables, batch)
    before = rows_of(tables)
    mailboxes = {name: Mailbox(tables, name).deliveries() for name in SUBSCRIBERS}
    monkeypatch.setattr(recent_deliveries, "RECENT_BYTES_MAX", 1)
    assert compact_recent(tables.deliveries) == 3
    assert rows_of(tables) == before
    assert buckets_in(tables) == {bucket_of(name) for name in SUBSCRIBERS}
    for name, deliveries in mailboxes.items():
        assert Mailbox(tables, name).deliveries() == deliveries
    assert compact_recent(tables.deliveries) == 0


def test_large_amounts_are_moved_in_groups_that_fit_into_memory(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(3):
        commit(tables, batch)
    before, version = rows_of(tables), DeltaTable(tables.deliveries).version()
    monkeypatch.setattr(recent_deliveries, "RECENT_BYTES_MAX", 1)
    monkeypatch.setattr(recent_deliveries, "MERGED_BYTES_MAX", 1)
    assert compact_recent(tables.deliveries) == 3
    assert rows_of(tables) == before
    assert DeltaTable(tables.deliveries).version() == version + 3


def call_during_compaction(patch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Changes the table after compaction has read rows and before it commits."""
    read = recent_files._read

    def read_then_change(table: DeltaTable, files: Sequence[RecentFile]) -> pa.Table:
        rows = read(table, files)
        change()
        return rows

    patch.setattr(recent_files, "_read", read_then_change)


def test_rows_deleted_during_compaction_do_not_return(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(2):
        commit(tables, batch)
    deletion = partial(DeltaTable(tables.deliveries).delete, "batch = 0")
    call_during_compaction(monkeypatch, deletion)
    monkeypatch.setattr(recent_deliveries, "RECENT_BYTES_MAX", 1)
    assert compact_recent(tables.deliveries) == 0
    assert {row["batch"] for row in rows_of(tables)} == {1}


def test_a_batch_committed_during_compaction_stays(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tables, 0)
    call_during_compaction(monkeypatch, partial(commit, tables, 1))
    monkeypatch.setattr(recent_deliveries, "RECENT_BYTES_MAX", 1)
    assert compact_recent(tables.deliveries) == 1
    assert len(rows_of(tables)) == 2 * len(SUBSCRIBERS)


def test_deliveries_of_earlier_versions_stay_without_positions(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(2):
        commit(tables, batch)
    DeltaTable(tables.deliveries).update(updates={"position": "null"}, predicate="batch = 0")
    mailboxes = {name: Mailbox(tables, name).deliveries() for name in SUBSCRIBERS}
    monkeypatch.setattr(recent_deliveries, "RECENT_BYTES_MAX", 1)
    assert compact_recent(tables.deliveries) > 0
    for name, deliveries in mailboxes.items():
        assert Mailbox(tables, name).deliveries() == deliveries


def test_runs_of_a_task_are_numbered_in_publishing_order(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is full when it exceeds a limit; later documents are in later runs."""
    monkeypatch.setattr(delivery_writer, "DELIVERY_RUN_BYTES", 1)
    writer = DeliveryWriter(
        tables.deliveries, DELIVERIES, sort_keys=("subscriber", "sequence"), commit=5
    )
    for batch in range(3):
        (file,) = write(tables, SUBSCRIBERS[::-1], batch=batch)
        rows = pq.read_table(Path(tables.deliveries) / file.path, partitioning=None)
        writer.write(rows.drop_columns(["position"]))
    commit_batch(tables.deliveries, writer.close(), stream="s", batch=0)
    found = sorted(rows_of(tables), key=lambda row: int(row["position"]))
    first = 5 << ORDINAL_BITS
    assert [row["position"] for row in found] == list(range(first, first + len(found)))
    for name in SUBSCRIBERS:
        assert [row["batch"] for row in found if row["subscriber"] == name] == [0, 1, 2]


@given(st.lists(st.tuples(st.text(), st.text()), max_size=20))
def test_delivery_ids_are_hashes_of_document_and_subscription(pairs: list[tuple[str, str]]) -> None:
    documents = pa.array([document for document, _ in pairs], pa.string())
    subscriptions = pa.array([subscription for _, subscription in pairs], pa.string())
    expected = [sha256(f"{a}\x1f{b}".encode()).hexdigest()[:32] for a, b in pairs]
    assert delivery_ids(documents, subscriptions).to_pylist() == expected
