"""Delivery of batches into the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.documents import Limits
from penstock.pipeline import spark_schemas
from penstock.pipeline.delivery import BatchCounts, deliver
from penstock.pipeline.run_config import RunConfig
from penstock.workspace.commit_positions import ORDINAL_BITS
from penstock.workspace.delta import last_committed_batch
from penstock.workspace.index_versions import write_shards, write_version
from penstock.workspace.mailbox import Mailbox
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.status import sum_set_aside
from penstock.workspace.subscriber_buckets import RECENT, bucket_of
from support.fixtures.mediated_data import GERMAN, mappings_at
from support.spark.example_tables import START, document_table, expected_matches, subscription_table

QUERIES = {
    **{f"reader{number}.cheap": f"//item[price < {number}]" for number in range(20)},
    "anna.all": "/news",
    "ben.none": "/olds",
    "dora.one": "price 7",
    "dora.many": "17 OR 27 OR undeclared",
    "dora.none": "price other",
}
CONTENTS = [
    *(b"<news><item><price>%d</price></item></news>" % number for number in range(40)),
    b"<other/>",
    b"<news><item></news>",
    b"<news>&undeclared;</news>",
]
COUNTS = BatchCounts(
    documents=43,
    matched=40,
    unmatched=1,
    dead=2,
    deliveries=sum(range(20)) + 40 + 1 + 2,
    bytes=sum(map(len, CONTENTS)),
)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    created = Tables(str(tmp_path / "tables"))
    created.create()
    return created


@pytest.fixture
def version(tmp_path: Path) -> str:
    return write_version(str(tmp_path / "indexes"), subscription_table(QUERIES))


@pytest.fixture
def documents(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(document_table(CONTENTS), spark_schemas.DOCUMENTS).repartition(3)


def rows_of(table: str) -> list[dict[str, Any]]:
    found: pa.Table = DeltaTable(table).to_pyarrow_table()
    return found.to_pylist()


def delivered(tables: Tables) -> list[tuple[str, str]]:
    return sorted((row["document"], row["subscription"]) for row in rows_of(tables.deliveries))


def test_a_batch_fills_all_tables(documents: DataFrame, version: str, tables: Tables) -> None:
    counts = deliver(documents, version, tables, stream="s", batch=0, at=START)
    assert counts == COUNTS
    assert delivered(tables) == sorted(expected_matches(QUERIES, document_table(CONTENTS)))
    log = rows_of(tables.documents)
    assert sorted(row["content"] for row in log) == sorted(CONTENTS[:-2])
    dead = sorted(rows_of(tables.dead_letters), key=lambda row: row["sequence"])
    assert [(row["content"], row["code"]) for row in dead] == [
        (CONTENTS[-2], "xml.end-tag"),
        (CONTENTS[-1], "entity.undeclared"),
    ]
    assert dead[0]["line"] == 1
    assert dead[0]["hint"]
    (count,) = rows_of(tables.counts)
    assert (count["batch"], count["documents"], count["versions"]) == (0, 43, [version])


def test_a_batch_is_committed_once(documents: DataFrame, version: str, tables: Tables) -> None:
    deliver(documents, version, tables, stream="s", batch=0, at=START)
    before = delivered(tables)
    assert deliver(documents, version, tables, stream="s", batch=0, at=START) is None
    assert delivered(tables) == before
    again = deliver(documents, version, tables, stream="s", batch=1, at=START)
    assert again == COUNTS
    assert delivered(tables) == sorted(before * 2)


def test_a_batch_interrupted_between_two_commits_is_completed(
    documents: DataFrame, version: str, tables: Tables
) -> None:
    deliver(documents, version, tables, stream="s", batch=0, at=START)
    # As after a failure before the last two commits.
    for table in (tables.deliveries, tables.counts):
        (Path(table) / "_delta_log" / f"{1:020}.json").unlink()
        assert last_committed_batch(table, "s") is None
    assert deliver(documents, version, tables, stream="s", batch=0, at=START) == COUNTS
    assert len(rows_of(tables.documents)) == 41
    assert len(rows_of(tables.dead_letters)) == 2
    assert len(rows_of(tables.deliveries)) == COUNTS.deliveries
    assert len(rows_of(tables.counts)) == 1


def test_a_batch_without_dead_letters_leaves_their_table_alone(
    spark: SparkSession, version: str, tables: Tables
) -> None:
    """Also if it is interrupted and completed; later batches commit theirs."""
    accepted = spark.createDataFrame(document_table(CONTENTS[:3]), spark_schemas.DOCUMENTS)
    deliver(accepted, version, tables, stream="s", batch=0, at=START)
    (Path(tables.counts) / "_delta_log" / f"{1:020}.json").unlink()
    deliver(accepted, version, tables, stream="s", batch=0, at=START)
    assert DeltaTable(tables.dead_letters).version() == 0
    assert len(rows_of(tables.documents)) == 3
    refused = spark.createDataFrame(document_table(CONTENTS[-2:]), spark_schemas.DOCUMENTS)
    deliver(refused, version, tables, stream="s", batch=1, at=START)
    assert last_committed_batch(tables.dead_letters, "s") == 1
    assert len(rows_of(tables.dead_letters)) == 2


@pytest.mark.parametrize("shards", [3])
def test_shards_deliver_the_same_and_write_dead_letters_once(
    documents: DataFrame, tmp_path: Path, tables: Tables, shards: int
) -> None:
    versions = write_shards(str(tmp_path / "indexes"), subscription_table(QUERIES), shards)
    counts = deliver(documents, versions, tables, stream="s", batch=0, at=START)
    assert counts == COUNTS
    assert delivered(tables) == sorted(expected_matches(QUERIES, document_table(CONTENTS)))
    assert len(rows_of(tables.dead_letters)) == 2
    assert len(rows_of(tables.documents)) == 41


def test_documents_of_two_schemas_match_one_subscription(
    spark: SparkSession, tmp_path: Path, tables: Tables
) -> None:
    mine, theirs = b"<news><item><price>7</price></item></news>", b'<meldung preis="7"/>'
    theirs = b"<nachrichten>%s</nachrichten>" % theirs
    strayed = b"<nachrichten><neu/><neu/></nachrichten>"
    table = pa.concat_tables(
        [
            document_table([mine]),
            document_table([theirs, strayed, b"<nachrichten>"], schema="nachrichten"),
            document_table([theirs], publisher="other", schema="notizie"),
        ]
    )
    subscriptions = subscription_table(
        {"anna.cheap": "/news/item[price < 10]", "ben.word": "meldung"}, returns="fragments"
    )
    counts = deliver(
        spark.createDataFrame(table, spark_schemas.DOCUMENTS).repartition(2),
        write_shards(str(tmp_path / "indexes"), subscriptions, 2),
        tables,
        stream="s",
        batch=0,
        at=START,
        mappings=mappings_at(tmp_path, {"nachrichten": GERMAN}),
    )
    assert counts is not None
    assert (counts.matched, counts.unmatched, counts.dead) == (2, 1, 2)
    assert counts.unknown_elements == 2, "counted once, whatever the number of shards"
    names = table.column("document").to_pylist()
    fragments = {
        (row["document"], row["subscription"]): [each["xml"] for each in row["fragments"]]
        for row in rows_of(tables.deliveries)
    }
    assert fragments == {
        (names[0], "anna.cheap"): ["<item><price>7</price></item>"],
        (names[1], "anna.cheap"): ['<meldung preis="7"/>'],
        (names[1], "ben.word"): ['<meldung preis="7"/>'],
    }
    dead = {row["document"]: row["code"] for row in rows_of(tables.dead_letters)}
    assert dead == {names[3]: "xml.unclosed", names[4]: "mediation.schema"}
    log = {row["content"]: row["unknown_elements"] for row in rows_of(tables.documents)}
    assert log == {mine: 0, theirs: 0, strayed: 2}


def test_subscriptions_that_are_set_aside_are_counted_by_subscription(
    spark: SparkSession, tables: Tables, tmp_path: Path
) -> None:
    expensive = {
        f"eve.{number}": f"//*[.//b[@k={number}]]//*[.//a[@k={number}] and .//b != {number}]"
        for number in range(100)
    }
    inner = "".join(f"<a k='{number}'/><b k='{number}'>{number}</b>" for number in range(50))
    hostile = ("<a>" * 50 + inner + "</a>" * 50).encode()
    table = document_table([b"<a><b k='3'/></a>", hostile])
    subscriptions = subscription_table({"anna.cheap": "//b[@k = '3']", **expensive})
    counts = deliver(
        spark.createDataFrame(table, spark_schemas.DOCUMENTS),
        write_shards(str(tmp_path / "indexes"), subscriptions, 2),
        tables,
        stream="s",
        batch=0,
        at=START,
        config=RunConfig(limits=Limits(work=200)),
    )
    assert counts is not None
    assert (counts.matched, counts.dead) == (2, 0)
    delivered = {row["subscription"] for row in rows_of(tables.deliveries)}
    assert "anna.cheap" in delivered
    (row,) = rows_of(tables.counts)
    by_subscription = dict(row["set_aside_by_subscription"])
    assert counts.set_aside == sum(by_subscription.values()) > 0
    assert set(by_subscription) <= set(expensive)
    assert {each.subscription for each in sum_set_aside(tables)} == set(by_subscription)


def test_a_subscribers_deliveries_are_in_one_bucket_and_sorted(
    documents: DataFrame, version: str, tables: Tables
) -> None:
    deliver(documents, version, tables, stream="s", batch=0, at=START)
    table = DeltaTable(tables.deliveries)
    for row in rows_of(tables.deliveries):
        assert row["bucket"] == bucket_of(row["subscriber"])
    for file in table.file_uris():
        content: Any = pa.parquet.read_table(file, partitioning=None)
        keys = content.select(["subscriber", "publisher", "sequence"]).to_pylist()
        in_order = [tuple(row.values()) for row in keys]
        assert in_order == sorted(in_order)


@pytest.fixture
def in_order(spark: SparkSession) -> DataFrame:
    """The documents in partitions that follow publishing order, as an inbox gives them."""
    table = spark.createDataFrame(document_table(CONTENTS), spark_schemas.DOCUMENTS)
    return table.repartitionByRange(3, "sequence")


def test_tasks_write_their_own_deliveries_if_publishing_order_is_known(
    in_order: DataFrame, version: str, tables: Tables, tmp_path: Path
) -> None:
    """One file a task instead of one a bucket; otherwise the same as after a shuffle."""
    counts = deliver(
        in_order, version, tables, stream="s", batch=0, at=START, in_publishing_order=True
    )
    assert counts == COUNTS
    shuffled = Tables(str(tmp_path / "shuffled"))
    shuffled.create()
    assert deliver(in_order, version, shuffled, stream="s", batch=0, at=START) == COUNTS
    found, expected = rows_of(tables.deliveries), rows_of(shuffled.deliveries)
    assert {row["bucket"] for row in found} == {RECENT}
    assert len(DeltaTable(tables.deliveries).file_uris()) == 3
    assert len(DeltaTable(shuffled.deliveries).file_uris()) > 3
    for rows in (found, expected):
        for row in rows:
            del row["bucket"], row["position"]
        rows.sort(key=lambda row: (row["delivery"], row["sequence"]))
    assert found == expected
    for file in DeltaTable(tables.deliveries).file_uris():
        content: Any = pa.parquet.read_table(file, partitioning=None)
        keys = content.select(["subscriber", "position"]).to_pylist()
        assert [tuple(row.values()) for row in keys] == sorted(tuple(row.values()) for row in keys)


def test_positions_of_several_tasks_follow_publishing_order(
    in_order: DataFrame, version: str, tables: Tables
) -> None:
    last = -1
    for batch in range(2):
        deliver(
            in_order, version, tables, stream="s", batch=batch, at=START, in_publishing_order=True
        )
        positions = []
        for subscriber in ("anna", "dora", "reader7", "reader19"):
            mailbox = Mailbox(tables, subscriber).deliveries(after=last).to_pylist()
            assert mailbox
            keys = [(row["sequence"], row["subscription"]) for row in mailbox]
            assert keys == sorted(keys)
            assert len({row["position"] for row in mailbox}) == len(mailbox)
            positions += [row["position"] for row in mailbox]
        assert len({position >> ORDINAL_BITS for position in positions}) == 3, "one a task"
        assert min(positions) > last
        last = max(positions)


def test_shards_are_shuffled_so_that_positions_follow_publishing_order(
    in_order: DataFrame, tables: Tables, tmp_path: Path
) -> None:
    shards = write_shards(str(tmp_path / "indexes"), subscription_table(QUERIES), 3)
    counts = deliver(
        in_order, shards, tables, stream="s", batch=0, at=START, in_publishing_order=True
    )
    assert counts == COUNTS
    for subscriber in ("anna", "dora"):
        mailbox = Mailbox(tables, subscriber).deliveries().to_pylist()
        keys = [(row["sequence"], row["subscription"]) for row in mailbox]
        assert keys == sorted(keys)


def test_delivery_ids_are_unique_and_stable(
    documents: DataFrame, version: str, tables: Tables
) -> None:
    deliver(documents, version, tables, stream="s", batch=0, at=START)
    first = {row["delivery"] for row in rows_of(tables.deliveries)}
    assert len(first) == COUNTS.deliveries
    deliver(documents, version, tables, stream="other", batch=0, at=START)
    assert {row["delivery"] for row in rows_of(tables.deliveries)} == first


def test_drop_malformed_counts_without_storing(
    documents: DataFrame, version: str, tables: Tables
) -> None:
    counts = deliver(
        documents,
        version,
        tables,
        stream="s",
        batch=0,
        at=START,
        config=RunConfig(mode="DROPMALFORMED"),
    )
    assert counts == COUNTS
    assert rows_of(tables.dead_letters) == []


def test_fail_fast_commits_nothing(documents: DataFrame, version: str, tables: Tables) -> None:
    with pytest.raises(PySparkException, match=r"xml\.end-tag|entity\.undeclared"):
        deliver(
            documents,
            version,
            tables,
            stream="s",
            batch=0,
            at=START,
            config=RunConfig(mode="FAILFAST"),
        )
    for table in (tables.documents, tables.deliveries, tables.dead_letters, tables.counts):
        assert rows_of(table) == []


def test_fragments_are_delivered_where_requested(
    documents: DataFrame, tmp_path: Path, tables: Tables
) -> None:
    subscriptions = pa.concat_tables(
        [
            subscription_table({"anna.prices": "//price[. = 7]"}, returns="fragments"),
            subscription_table({"ben.prices": "//price[. = 7]"}),
            subscription_table({"carl.words": "7 item"}, returns="fragments"),
            subscription_table({"dora.words": "7 item"}),
        ]
    )
    version = write_version(str(tmp_path / "indexes"), subscriptions)
    deliver(documents, version, tables, stream="s", batch=0, at=START)
    found = {row["subscriber"]: row["fragments"] for row in rows_of(tables.deliveries)}
    assert found["ben"] is None
    assert found["dora"] is None
    assert [(each["kind"], each["xml"]) for each in found["carl"]] == [
        ("path", "<item><price>7</price></item>")
    ]
    assert found["anna"] == [
        {"kind": "element", "spans": [{"start": 12, "end": 28}], "xml": "<price>7</price>"}
    ]


def test_an_empty_batch_is_counted(spark: SparkSession, version: str, tables: Tables) -> None:
    nothing = spark.createDataFrame(document_table([]), spark_schemas.DOCUMENTS)
    counts = deliver(nothing, version, tables, stream="s", batch=0, at=START)
    assert counts == BatchCounts()
    assert len(rows_of(tables.counts)) == 1
