"""Every reader, batch and stream: an opened delivery has the bytes of the document it names."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from penstock.documents import Document, Header
from penstock.errors import WorkspaceError
from penstock.pipeline import BatchDelivery, deliver, run_workspace, start_stream
from penstock.pipeline.readers import read_archives, read_column, read_directory, read_records
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.document_lookup import find_document
from penstock.workspace.limits import PUBLISHED_SEQUENCE_MAX
from penstock.workspace.retention import removals
from penstock.workspace.retention_policy import RetentionPolicy
from penstock.workspace.table_reader import read_rows
from support.contracts.mailbox_contents import assert_mailboxes_are_exact
from support.strategies.query_kinds import kind_of

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TOPICS = ("storm", "harvest", "opera")
QUERIES = {
    "anna.storm": "//topic[. = 'storm']",
    "ben.harvest": "//topic[. = 'harvest']",
    "carl.opera": "opera",
    "carl.large": "//size[. > 500]",
    "dora.all": "/news",
}
SAME_TIME_NS = 1_780_000_000_000_000_000
Source = Callable[[SparkSession, Path, Sequence[bytes], bool], DataFrame]


def from_column(
    spark: SparkSession, folder: Path, contents: Sequence[bytes], stream: bool
) -> DataFrame:
    rows = pa.table({"xml": pa.array(contents, pa.binary())})
    for start in range(0, len(contents), 4):
        pq.write_table(rows.slice(start, 4), folder / f"{start}.parquet")
    reader = spark.readStream if stream else spark.read
    frame = reader.schema("xml binary").parquet(str(folder))
    return read_column(spark, frame, "xml", publisher="me")


def from_directory(
    spark: SparkSession, folder: Path, contents: Sequence[bytes], stream: bool
) -> DataFrame:
    for number, content in enumerate(contents):
        path = folder / f"{number}.xml"
        path.write_bytes(content)
        os.utime(path, ns=(SAME_TIME_NS, SAME_TIME_NS))
    return read_directory(spark, str(folder), publisher="me", stream=stream)


def from_archives(
    spark: SparkSession, folder: Path, contents: Sequence[bytes], stream: bool
) -> DataFrame:
    for start in range(0, len(contents), 4):
        path = folder / f"{start}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for number, content in enumerate(contents[start : start + 4]):
                archive.writestr(f"{number}.xml", content)
        os.utime(path, ns=(SAME_TIME_NS, SAME_TIME_NS))
    return read_archives(spark, str(folder), publisher="me", stream=stream)


def from_records(
    spark: SparkSession, folder: Path, contents: Sequence[bytes], stream: bool
) -> DataFrame:
    for start in range(0, len(contents), 4):
        path = folder / f"{start}.xml"
        path.write_bytes(b"<feed>" + b"".join(contents[start : start + 4]) + b"</feed>")
        os.utime(path, ns=(SAME_TIME_NS, SAME_TIME_NS))
    return read_records(spark, str(folder), "/feed/*", publisher="me", stream=stream)


def news(topic: str, size: int) -> bytes:
    return b"<news><topic>%s</topic><size>%d</size></news>" % (topic.encode(), size)


WELL_FORMED = st.lists(
    st.builds(news, st.sampled_from(TOPICS), st.integers(0, 999)),
    min_size=10,
    max_size=24,
    unique=True,
)
REFUSED = st.lists(
    st.integers(0, 999).map(lambda number: b"<news>%d" % number),
    min_size=2,
    max_size=4,
    unique=True,
)


def workspace_with_subscriptions(folder: Path) -> Workspace:
    workspace = Workspace.create(folder)
    for name, query in QUERIES.items():
        subscriber = name.partition(".")[0]
        workspace.subscriptions.add(
            StoredSubscription(id=name, subscriber=subscriber, query=query, kind=kind_of(query))
        )
    workspace.tables.create()
    return workspace


def deliver_all(documents: DataFrame, workspace: Workspace, scratch: Path) -> None:
    version = workspace.current_version()
    if not documents.isStreaming:
        deliver(documents, version, workspace.tables, stream="s", batch=0, at=NOON)
        return
    delivery = BatchDelivery(
        versions=lambda: [version],
        tables=workspace.tables,
        records=str(scratch / "records"),
        stream="s",
    )
    start_stream(documents, delivery, checkpoint=scratch / "checkpoint").awaitTermination()


def by_identity(contents: Sequence[bytes]) -> dict[str, bytes]:
    return {Document(each, Header(publisher="me")).identity: each for each in contents}


@pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])
@pytest.mark.parametrize("source", [from_column, from_directory, from_archives, from_records])
@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(contents=WELL_FORMED, refused=REFUSED)
def test_a_delivery_opens_as_the_document_it_names(
    spark: SparkSession,
    source: Source,
    stream: bool,
    contents: list[bytes],
    refused: list[bytes],
) -> None:
    # One record that is not well-formed ends its file.
    written = contents if source is from_records else contents + refused
    with tempfile.TemporaryDirectory() as scratch:
        (folder := Path(scratch) / "source").mkdir()
        with workspace_with_subscriptions(Path(scratch) / "workspace") as workspace:
            documents = source(spark, folder, written, stream)
            deliver_all(documents, workspace, Path(scratch))
            assert_mailboxes_are_exact(workspace, QUERIES, by_identity(written))


def test_a_delivery_of_the_inbox_opens_as_the_document_it_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    contents = [*(news(topic, size) for topic in TOPICS for size in (1, 600)), b"<news>"]
    with workspace_with_subscriptions(tmp_path / "w") as workspace:
        workspace.publish([Document(each, Header(publisher="me")) for each in contents])
        run_workspace(spark, workspace).awaitTermination()
        assert_mailboxes_are_exact(workspace, QUERIES, by_identity(contents))


def test_other_bytes_under_the_same_id_are_not_confused(
    spark: SparkSession, tmp_path: Path
) -> None:
    contents = [news(topic, size) for topic in TOPICS for size in (1, 600)]
    rows = [("same", each) for each in contents]
    table = spark.createDataFrame(rows, "id string, xml binary").repartition(3)
    with workspace_with_subscriptions(tmp_path / "w") as workspace:
        deliver_all(
            read_column(spark, table, "xml", publisher="me", id=col("id")), workspace, tmp_path
        )
        for subscriber, topic in (("anna", "storm"), ("ben", "harvest")):
            box = workspace.mailbox(subscriber)
            opened = {each.content for each in box.opened(box.deliveries())}
            assert opened == {news(topic, 1), news(topic, 600)}


def test_numbers_are_the_same_however_the_rows_are_partitioned(
    spark: SparkSession, tmp_path: Path
) -> None:
    contents = [news(topic, size) for topic in TOPICS for size in range(8)] + [b"<news>"]
    table = spark.createDataFrame([(each,) for each in contents], "xml binary")
    documents = read_column(spark, table, "xml", publisher="me")
    numbers = []
    for partitions in (1, 5):
        folder = tmp_path / str(partitions)
        with workspace_with_subscriptions(folder) as workspace:
            deliver_all(documents.repartition(partitions), workspace, folder)
            found = [
                read_rows(table, columns=["document", "sequence"])
                for table in (workspace.tables.documents, workspace.tables.dead_letters)
            ]
            numbers.append(
                sorted(tuple(row.values()) for rows in found if rows for row in rows.to_pylist())
            )
            assert workspace.status().dead == 1
    assert numbers[0] == numbers[1]
    assert len({sequence for _, sequence in numbers[0]}) == len(contents)


def test_documents_of_readers_do_not_move_the_inbox_forward(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = spark.createDataFrame([(news("storm", 1),)], "xml binary")
    with workspace_with_subscriptions(tmp_path / "w") as workspace:
        workspace.publish([Document(news("storm", 2), Header(publisher="me"))])
        deliver_all(read_column(spark, table, "xml", publisher="me"), workspace, tmp_path)
        assert workspace.status().waiting == 1
        policy = RetentionPolicy(documents=timedelta())
        found = {each.what for each in removals(workspace, policy=policy, now=datetime.now(UTC))}
        assert "documents" in found
        assert not found & {"identities of removed documents", "processed inbox files"}
        run_workspace(spark, workspace).awaitTermination()
        box = workspace.mailbox("anna")
        assert {each.content for each in box.opened(box.deliveries())} == {
            news("storm", 1),
            news("storm", 2),
        }


def test_a_table_of_an_earlier_version_opens_by_identity(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Rows without digests, whose documents all have the same number."""
    contents = [news(topic, size) for topic in TOPICS for size in (1, 600)] + [b"<a>", b"<b>"]
    table = spark.createDataFrame([(each,) for each in contents], "xml binary")
    with workspace_with_subscriptions(tmp_path / "w") as workspace:
        deliver_all(read_column(spark, table, "xml", publisher="me"), workspace, tmp_path)
        tables = workspace.tables
        number = 2 * PUBLISHED_SEQUENCE_MAX
        for name in (tables.documents, tables.dead_letters, tables.deliveries):
            DeltaTable(name).update(updates={"sequence": str(number)})
        DeltaTable(tables.deliveries).update(updates={"content_digest": "null"})
        for subscriber, topic in (("anna", "storm"), ("ben", "harvest")):
            box = workspace.mailbox(subscriber)
            opened = {each.content for each in box.opened(box.deliveries())}
            assert opened == {news(topic, 1), news(topic, 600)}
        for lookup in (workspace.dead_letters.get, lambda name: find_document(workspace, name)):
            with pytest.raises(WorkspaceError) as caught:
                lookup(str(number))
            assert caught.value.code == "document.ambiguous"
        letters = {letter.document: letter for letter in workspace.dead_letters.all()}
        (identity,) = by_identity([b"<a>"])
        assert workspace.dead_letters.content(letters[identity]) == b"<a>"
        assert len(workspace.dead_letters.replay([letters[identity]])) == 1
        states = {each.document: each.outcome for each in workspace.dead_letters.all()}
        assert (states.pop(identity), *states.values()) == ("waiting", "open")


def test_bytes_that_were_not_delivered_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.createDataFrame([("7", news("storm", 1))], "id string, xml binary")
    with workspace_with_subscriptions(tmp_path / "w") as workspace:
        deliver_all(
            read_column(spark, table, "xml", publisher="me", id=col("id")), workspace, tmp_path
        )
        DeltaTable(workspace.tables.documents).update(
            updates={"content": "arrow_cast('<news/>', 'Binary')"}
        )
        box = workspace.mailbox("anna")
        with pytest.raises(WorkspaceError) as caught:
            list(box.opened(box.deliveries()))
        assert caught.value.code == "document.damaged"
