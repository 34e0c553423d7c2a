"""Synchronisation as a stream gives the messages of the server core, whatever is executed again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.tws_tester import TwsTester

from penstock.pipeline import synchronise_documents
from penstock.pipeline.limits import STREAM_CHECKPOINT_ENTRIES
from penstock.pipeline.sync_stream import _SERVERS, SyncProcessor
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.message_codec import decode_messages, encode_request
from support.contracts.native_engines import needs_native
from support.fixtures.repository import SOURCE

pytestmark = needs_native

DOCUMENT = b"<menu><dish>soup</dish><dish>stew</dish></menu>"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SCHEMA = "document STRING, position LONG, request BINARY, content BINARY"


def row(position: int, *, request: bytes | None = None, content: bytes | None = None) -> Row:
    return Row(document="menu", position=position, request=request, content=content)


def run(tester: TwsTester, rows: Sequence[Row]) -> list[Any]:
    return list(tester.test(("menu",), list(rows)))


def receive(client: Client, answer: Any) -> None:  # noqa: ANN401
    assert answer["code"] is None, answer
    for message in decode_messages(bytes(answer["messages"])):
        client.receive(message)


@pytest.mark.parametrize("is_restored", [False, True])
def test_micro_batches_are_rounds_of_the_server(is_restored: bool) -> None:
    tester = TwsTester(SyncProcessor())
    server = Server.of_document(DOCUMENT)
    clients = [Client(name, SyncSubscription("/menu/dish")) for name in ("one", "two")]
    assert run(tester, [row(0, content=DOCUMENT)]) == []
    for number in range(6):
        if is_restored:
            _SERVERS.clear()
        if number:
            clients[0].update(f"/menu/dish[0]/*!update('{number}')")
            clients[1].update(f"/menu!insert(dish/'{number}')")
        requests = [client.request() for client in clients]
        for request in requests:
            server.receive(request)
        expected = {message.client: (message,) for message in server.round()}
        rows = [
            row(position, request=encode_request(request))
            for position, request in enumerate(requests)
        ]
        for client, answer in zip(clients, run(tester, list(reversed(rows))), strict=True):
            assert decode_messages(bytes(answer["messages"])) == expected[client.name]
            receive(client, answer)
    assert clients[0].canonical_xml() == server.tree.canonical_xml()


def test_checkpoints_replace_entries_that_are_acknowledged() -> None:
    tester = TwsTester(SyncProcessor())
    client = Client("one", SyncSubscription("/menu/dish"))
    rows = [row(0, content=DOCUMENT), row(0, request=encode_request(client.request()))]
    (answer,) = run(tester, rows)
    receive(client, answer)
    kept = []
    for number in range(1, 9):
        _SERVERS.clear()
        for at in range(40):
            client.update(f"/menu/dish[0]/*!update('{number}.{at}')")
        (answer,) = run(tester, [row(number, request=encode_request(client.request()))])
        receive(client, answer)
        client.update("/menu!insert(dish/'x')")
        kept.append(len(tester.peekMapState("entries", ("menu",))))
    assert max(kept) <= 4
    assert client.version > 4 * STREAM_CHECKPOINT_ENTRIES
    checkpoint = tester.peekValueState("checkpoint", ("menu",))
    assert checkpoint is not None
    assert checkpoint[0] > 0
    _SERVERS.clear()
    again = Client("two", SyncSubscription("/*"))
    (answer,) = run(tester, [row(9, request=encode_request(again.request()))])
    receive(again, answer)
    assert b"<dish>8.39</dish>" in again.canonical_xml()
    assert again.canonical_xml().count(b"<dish>x</dish>") == 7


def test_a_server_in_memory_is_not_used_for_another_state() -> None:
    tester = TwsTester(SyncProcessor())
    client = Client("one", SyncSubscription("/*"))
    run(tester, [row(0, content=DOCUMENT)])
    (answer,) = run(tester, [row(1, request=encode_request(client.request()))])
    receive(client, answer)
    stored = {name: tester.peekValueState(name, ("menu",)) for name in ("checkpoint", "head")}
    maps = {name: tester.peekMapState(name, ("menu",)) for name in ("entries", "clients")}
    client.update("/menu/dish[0]!delete()")
    again = [row(2, request=encode_request(client.request()))]
    (lost,) = run(tester, again)
    # The micro-batch is not committed: Spark executes it again on the state before.
    for name, value in stored.items():
        assert value is not None
        tester.updateValueState(name, ("menu",), value)
    for name, found in maps.items():
        tester.updateMapState(name, ("menu",), found)
    (answer,) = run(tester, again)
    assert answer == lost
    receive(client, answer)
    assert client.version == 1
    assert not client.pending


@pytest.mark.parametrize("is_restored", [False, True])
def test_connected_clients_are_sent_what_affects_them(is_restored: bool) -> None:
    tester = TwsTester(SyncProcessor())
    writer = Client("writer", SyncSubscription("/menu/dish"))
    readers = [
        Client("connected", SyncSubscription("/menu/dish[2]")),
        Client("asking", SyncSubscription("/menu/dish[2]")),
        Client("unaffected", SyncSubscription("//price")),
    ]
    run(tester, [row(0, content=DOCUMENT)])
    clones = [
        connected_row(position, client, is_connected=client.name != "asking")
        for position, client in enumerate((writer, *readers))
    ]
    for client, answer in zip((writer, *readers), run(tester, clones), strict=True):
        receive(client, answer)
    for number in range(3):
        if is_restored:
            _SERVERS.clear()
        writer.update(f"/menu/dish[1]/*!update('{number}')")
        answer, pushed = run(tester, [connected_row(10 + number, writer)])
        receive(writer, answer)
        assert (pushed["position"], pushed["client"]) == (None, "connected")
        # The client sends nothing: what it was sent last is what the next message builds on.
        receive(readers[0], pushed)
        assert readers[0].canonical_xml() == b"<menu><dish>%d</dish></menu>" % number
        assert readers[0].version == number + 1
    # Its own requests are answered as any, and end the connection unless they say otherwise.
    (answer,) = run(tester, [row(20, request=encode_request(readers[0].request()))])
    assert answer["position"] == 20
    if is_restored:
        _SERVERS.clear()
    writer.update("/menu/dish[1]/*!update('last')")
    answers = run(tester, [connected_row(21, writer)])
    assert [answer["client"] for answer in answers] == ["writer"]
    assert tester.peekMapState("connected", ("menu",)).keys() == {("writer",), ("unaffected",)}


def connected_row(position: int, client: Client, *, is_connected: bool = True) -> Row:
    request = encode_request(client.request())
    return Row(
        document="menu", position=position, request=request, content=None, connected=is_connected
    )


def test_what_is_refused_fails_nothing_else() -> None:
    tester = TwsTester(SyncProcessor())
    clone = encode_request(Client("one", SyncSubscription("/*")).request())
    (answer,) = run(tester, [row(0, request=clone)])
    assert answer["code"] == "sync.document"
    (answer,) = run(tester, [row(1, content=b"<menu>")])
    assert answer["code"] == "xml.unclosed"
    answers = run(
        tester, [row(2, content=DOCUMENT), row(3, content=DOCUMENT), row(4, request=b"x")]
    )
    assert [answer["code"] for answer in answers] == ["sync.document", "sync.message"]
    (answer,) = run(tester, [row(5, request=clone)])
    assert answer["client"] == "one"


def test_a_batch_that_is_executed_again_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    source, sink, checkpoint = (tmp_path / name for name in ("requests", "messages", "checkpoint"))

    def add(*rows: Row) -> None:
        spark.createDataFrame(list(rows), SCHEMA).coalesce(1).write.mode("append").parquet(
            str(source)
        )

    def execute() -> list[Row]:
        requests = spark.readStream.schema(SCHEMA).parquet(str(source))
        query = (
            synchronise_documents(requests)
            .writeStream.format("parquet")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start(str(sink))
        )
        query.awaitTermination()
        return spark.read.parquet(str(sink)).orderBy("position").collect()

    try:
        client = Client("one", SyncSubscription("/*"))
        add(row(0, content=DOCUMENT), row(1, request=encode_request(client.request())))
        (answer,) = execute()
        receive(client, answer)
        client.update("/menu!insert(dish/'broth')")
        add(row(2, request=encode_request(client.request())))
        answers = execute()
        # As after a kill between the commit of the state and that of the micro-batch.
        (checkpoint / "commits" / "1").unlink()
        (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
        assert execute() == answers
        receive(client, answers[1])
        assert (client.version, len(client.pending)) == (1, 0)
        assert client.canonical_xml().count(b"broth") == 1
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")


def test_a_table_of_requests_is_a_history(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    try:
        clients, rows = example_history()
        columns = f"{SCHEMA}, connected BOOLEAN"
        found = synchronise_documents(spark.createDataFrame(rows, columns)).collect()
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    answers = {answer["position"]: answer for answer in found}
    assert sorted(answers) == [1, 2]
    for client, position in zip(clients, (1, 2), strict=True):
        receive(client, answers[position])
        assert client.canonical_xml() == DOCUMENT


def example_history() -> tuple[list[Client], list[Row]]:
    """Two clients that clone a document."""
    clients = [Client(name, SyncSubscription("/menu/dish")) for name in ("one", "two")]
    created = Row(document="menu", position=0, request=None, content=DOCUMENT, connected=None)
    clones = [connected_row(position, client) for position, client in enumerate(clients, start=1)]
    return clients, [created, *clones]


CONNECT_SCRIPT = """
from pyspark.sql import SparkSession
from penstock.pipeline import synchronise_documents
from penstock.sync import Client, SyncSubscription
from penstock.sync.message_codec import decode_messages, encode_request

spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert "connect" in type(spark).__module__
spark.conf.set("spark.sql.shuffle.partitions", "1")
spark.conf.set(
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)
client = Client("one", SyncSubscription("/menu/dish"))
rows = [
    ("menu", 0, None, b"<menu><dish>soup</dish></menu>"),
    ("menu", 1, encode_request(client.request()), None),
]
columns = "document STRING, position LONG, request BINARY, content BINARY"
(answer,) = synchronise_documents(spark.createDataFrame(rows, columns)).collect()
for message in decode_messages(bytes(answer["messages"])):
    client.receive(message)
print(client.canonical_xml().decode())
spark.stop()
"""


def test_a_table_of_requests_on_spark_connect() -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    done = subprocess.run(
        [sys.executable, "-c", CONNECT_SCRIPT],
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "<menu><dish>soup</dish></menu>"
