"""Synchronisation as a stream survives ``kill -9`` of its processes: each message comes once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.message_codec import encode_messages, encode_request
from penstock.sync.request_round import run_round
from support.contracts.native_engines import needs_native
from support.fixtures.processes import kill_session
from support.fixtures.repository import SOURCE

pytestmark = [
    needs_native,
    pytest.mark.skipif(sys.platform != "linux", reason="lists processes from /proc"),
]

DOCUMENT = b"<menu><dish>soup</dish><dish>stew</dish></menu>"
DOCUMENTS = [f"menu {number}" for number in range(4)]
ROUNDS = 6
FIELDS: dict[str, pa.DataType] = {
    "document": pa.string(),
    "position": pa.int64(),
    "request": pa.binary(),
    "content": pa.binary(),
}
SECONDS_MAX = 300

SCRIPT = """
import sys
from pathlib import Path
from penstock.pipeline import synchronise_documents
from penstock.pipeline.session import session

folder = Path(sys.argv[1])
provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
settings = {
    "spark.sql.streaming.stateStore.providerClass": provider,
    "spark.local.dir": str(folder / "scratch"),
}
with session(
    master="local[2]", remote=None, settings=settings, log=folder / "spark.log"
) as spark:
    columns = "document STRING, position LONG, request BINARY, content BINARY"
    requests = spark.readStream.schema(columns).parquet(str(folder / "requests"))
    writer = synchronise_documents(requests).writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    stream = writer.start(str(folder / "messages"))
    while not (folder / "checkpoint" / "commits" / sys.argv[2]).exists():
        stream.awaitTermination(0.1)
    stream.stop()
"""


def test_each_message_comes_once_whatever_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    expected = write_requests(tmp_path / "clients")
    offsets, commits = (tmp_path / "checkpoint" / name for name in ("offsets", "commits"))
    # While a micro-batch is executed, and right after the commit of another.
    assert run(tmp_path, (offsets / "2").exists) is None
    assert not (commits / str(ROUNDS - 1)).exists()
    assert run(tmp_path, (commits / "3").exists) is None
    assert not (commits / str(ROUNDS - 1)).exists()
    assert run(tmp_path, lambda: False) == 0
    found = spark.read.parquet(str(tmp_path / "messages")).collect()
    answers = {(row["document"], row["position"]): bytes(row["messages"]) for row in found}
    assert answers == expected
    assert len(found) == len(expected)


def run(folder: Path, is_time_to_kill: Callable[[], bool]) -> int | None:
    """Runs the stream; returns its exit code, or ``None`` if it was killed."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "SPARK_LOCAL_IP": "127.0.0.1"}
    for name in ("scratch", "requests"):
        (folder / name).mkdir(exist_ok=True)
    with (folder / "output").open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(folder), str(ROUNDS - 1)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + SECONDS_MAX
        while process.poll() is None:
            send_requests(folder)
            if is_time_to_kill():
                return None
            assert time.monotonic() < end, (folder / "output").read_text(errors="replace")
            time.sleep(0.01)
        assert process.returncode == 0, (folder / "output").read_text(errors="replace")
        return process.returncode
    finally:
        kill_session(process.pid)
        process.wait()


def send_requests(folder: Path) -> None:
    """Sends the requests of a round once those of the round before are answered, as clients do.

    All at once, two rounds may become one micro-batch: a stream that is killed between its listing
    of new files and its log of offsets lists the next ones, too.
    """
    for number in range(ROUNDS):
        waiting = folder / "clients" / f"{number}.parquet"
        if waiting.exists():
            if number == 0 or (folder / "checkpoint" / "commits" / str(number - 1)).exists():
                waiting.rename(folder / "requests" / waiting.name)
            return


def write_requests(folder: Path) -> dict[tuple[str, int], bytes]:
    """Writes a file of requests for each round; returns the messages of the server core."""
    folder.mkdir()
    expected: dict[tuple[str, int], bytes] = {}
    rows: list[list[dict[str, object]]] = [[] for _ in range(ROUNDS)]
    for document in DOCUMENTS:
        rows[0].append({"document": document, "position": 0, "content": DOCUMENT})
        server = Server.of_document(DOCUMENT)
        clients = [Client(name, SyncSubscription("/menu/dish")) for name in ("one", "two")]
        for number in range(ROUNDS):
            if number:
                clients[0].update(f"/menu/dish[0]/*!update('{document}, {number}')")
                clients[1].update(f"/menu!insert(dish/'{document}, {number}')")
            requests = [client.request() for client in clients]
            answers = run_round(server, requests).answers
            for at, (client, request, answer) in enumerate(
                zip(clients, requests, answers, strict=True)
            ):
                assert not isinstance(answer, PenstockError)
                position = 10 * number + at + 1
                rows[number].append(
                    {
                        "document": document,
                        "position": position,
                        "request": encode_request(request),
                    }
                )
                expected[document, position] = encode_messages(answer)
                for message in answer:
                    client.receive(message)
        assert server.tree.canonical_xml().count(b"<dish>") == 1 + ROUNDS
    for number, batch in enumerate(rows):
        table = pa.Table.from_pylist(batch, schema=pa.schema(FIELDS))
        pq.write_table(table, folder / f"{number}.parquet")
    return expected
