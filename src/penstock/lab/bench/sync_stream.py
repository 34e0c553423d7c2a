"""``bench sync``: updates a second of synchronisation as a stream, on one core and on two.

Each document has an author who sends a request with many statements in each micro-batch. The
documents, and so the requests, are equal: they are made once, by a server core of the benchmark.
What is measured are whole micro-batches, from the listing of files to the commit, after those in
which the workers start, the documents are created and the authors clone them.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import PenstockError
from penstock.lab.bench.report import BenchResults, Progress
from penstock.pipeline import synchronise_documents
from penstock.pipeline.session import session
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.message_codec import encode_request
from penstock.sync.request_round import run_round

PRODUCTS: Final = 100
"""Products in a document, each with a name and a price."""

CORES: Final = (1, 2)

_FIELDS: Final[dict[str, pa.DataType]] = {
    "document": pa.string(),
    "position": pa.int64(),
    "request": pa.binary(),
    "content": pa.binary(),
}
_COLUMNS: Final = "document STRING, position LONG, request BINARY, content BINARY"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True)
class StreamSize:
    """The size of the measurement."""

    documents: Sequence[int]
    """Numbers of documents; the budget is for the last."""
    statements: int
    """Statements of a request; each sets the price of a product."""
    batches: int
    """Measured micro-batches."""
    repeats: int
    """Sessions on each number of cores, by turns."""


FULL_STREAM: Final = StreamSize(documents=(100, 1_000), statements=100, batches=3, repeats=3)
QUICK_STREAM: Final = StreamSize(documents=(2,), statements=2, batches=1, repeats=1)


def measure_stream(results: BenchResults, progress: Progress, *, quick: bool) -> None:
    """Statements that streams decide in a second, and how they grow with the cores."""
    size = QUICK_STREAM if quick else FULL_STREAM
    requests = _requests(size)
    for documents in size.documents:
        rates: dict[int, list[float]] = {cores: [] for cores in CORES}
        for turn in range(size.repeats):
            for cores in CORES if turn % 2 == 0 else reversed(CORES):
                progress(f"bench sync: a stream of {documents:,} documents, {cores} cores")
                rates[cores].append(_rate(documents, requests, cores, size))
        medians = {cores: statistics.median(found) for cores, found in rates.items()}
        for cores, median in medians.items():
            what = f"Spark, {documents:,} documents, {size.statements} statements a request"
            results.figure(f"{what}, {cores} cores: updates a second", median, "")
        # Of neighbouring sessions: a machine that slows down slows both down.
        speedups = [two / one for one, two in zip(*rates.values(), strict=True)]
        results.values["stream"] = statistics.median(speedups)


def _requests(size: StreamSize) -> list[bytes]:
    """The requests of an author: to clone the document, and with statements."""
    server, author = Server.of_document(_document()), Client("author", SyncSubscription("/*"))
    requests = []
    made = 0
    # One micro-batch with statements is not measured, either: it warms the server's caches.
    for batch in range(size.batches + 2):
        for _ in range(size.statements if batch else 0):
            author.update(f"/catalogue/product[{made % PRODUCTS}]/price/*!update('{made}')")
            made += 1
        request = author.request()
        requests.append(encode_request(request))
        (answer,) = run_round(server, [request]).answers
        assert not isinstance(answer, PenstockError)
        for message in answer:
            author.receive(message)
    assert server.version == made
    return requests


def _document() -> bytes:
    products = "".join(
        f'<product id="p{number}"><name>product {number}</name><price>1</price></product>'
        for number in range(PRODUCTS)
    )
    return f"<catalogue>{products}</catalogue>".encode()


def _rate(documents: int, requests: Sequence[bytes], cores: int, size: StreamSize) -> float:
    """Statements a second in the last micro-batches."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        _write(folder / "requests", documents, requests)
        settings = {
            "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
            # The same tasks on one core as on two.
            "spark.sql.shuffle.partitions": str(max(CORES)),
        }
        with session(
            master=f"local[{cores},4]", remote=None, settings=settings, log=folder / "spark.log"
        ) as spark:
            reader = spark.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", 1)
            stream = synchronise_documents(reader.parquet(str(folder / "requests"))).writeStream
            stream = stream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
            query = stream.trigger(availableNow=True).start()
            query.awaitTermination()
            batches: list[Any] = [batch for batch in query.recentProgress if batch["numInputRows"]]
    assert len(batches) == len(requests)
    durations = [batch["durationMs"]["triggerExecution"] for batch in batches[-size.batches :]]
    return documents * size.statements * 1e3 / float(statistics.median(durations))


def _write(folder: Path, documents: int, requests: Sequence[bytes]) -> None:
    """A file for each micro-batch."""
    folder.mkdir()
    content = _document()
    for batch, request in enumerate(requests):
        rows: list[dict[str, object]] = []
        for number in range(documents):
            document = f"document {number}"
            if batch == 0:
                rows.append({"document": document, "position": 0, "content": content})
            rows.append({"document": document, "position": batch + 1, "request": request})
        path = folder / f"{batch}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(_FIELDS)), path)
        # The files are read in this order.
        os.utime(path, (1_700_000_000 + batch,) * 2)
