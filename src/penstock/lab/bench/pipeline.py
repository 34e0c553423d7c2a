"""``bench pipeline``: the overhead of Spark, and the throughput of query-by-query alternatives.

The reference time is the sum of two: the native core matching the same documents on as many threads
as Spark has cores, and Spark transferring the same row transfer to Python and back unchanged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.lab.bench.bench_workload import BenchWorkload, Setting, draw
from penstock.lab.bench.per_query_baselines import baseline_figures
from penstock.lab.bench.report import Figure, Progress, Report
from penstock.lab.bench.timing import interleaved
from penstock.matching import Matcher
from penstock.pipeline.document_matching import match_documents
from penstock.pipeline.readers import read_directory
from penstock.pipeline.session import Rows, Session, session
from penstock.workspace.index_versions import write_version
from penstock.workspace.table_schemas import DOCUMENTS, SUBSCRIPTIONS

CORES = 2
"""Cores that the budget assumes."""

COPIES = 5
"""Copies of each document: generating more documents would take longer than matching them."""

FILES_MAX = 2_000
"""Files in the directory of small files."""

RIVAL_DOCUMENTS = 200
"""Documents for the alternatives that evaluate one query at a time."""

COUNTS = (1_000, 100_000, 1_000_000)

SETTING = Setting(subscriptions=COUNTS[-1], documents=4_000, repeats=5)
SETTING_QUICK = Setting(subscriptions=2_000, documents=20, repeats=1)


def run(*, quick: bool, progress: Progress) -> Report:
    """Match the sparse workload's documents from Parquet with increasing numbers of
    subscriptions."""
    setting = SETTING_QUICK if quick else SETTING
    progress("bench pipeline: generating")
    workload = draw("paths-sparse", setting)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "documents"
        megabytes = write_documents(workload.documents, source) / 1e6
        with session(
            master=f"local[{CORES},4]", remote=None, settings={}, log=Path(folder) / "spark.log"
        ) as spark:
            documents = spark.read.parquet(str(source))
            figures = [Figure("documents", setting.documents * COPIES, "")]
            figures.append(Figure("size of all documents", megabytes, "MB"))
            values: dict[str, float] = {}
            for count in COUNTS:
                progress(f"bench pipeline: {count:,} subscriptions")
                part = workload.reduced_to((), min(count, setting.subscriptions))
                uri = write_version(f"{folder}/indexes", subscription_table(part))
                found = _measure(documents, uri, part, source, setting.repeats)
                values[f"subscriptions_{count}"] = found.ratio
                figures += found.figures(f"{count:,} subscriptions", megabytes)
            progress("bench pipeline: a directory of small files")
            figures += _small_files(spark, workload.documents[:FILES_MAX], folder, uri)
            progress("bench pipeline: query-by-query alternatives")
            some = workload.documents[: min(RIVAL_DOCUMENTS, setting.documents // 10)]
            few = documents.limit(len(some))
            figures += baseline_figures(few, some, workload.queries)
    return Report.on_this_machine("pipeline", quick=quick, figures=figures, values=values)


@dataclass(frozen=True, slots=True)
class _Found:
    """Seconds for one number of subscriptions."""

    pipeline: float
    native: float
    identity: float

    @property
    def ratio(self) -> float:
        return self.pipeline / (self.native + self.identity)

    def figures(self, what: str, megabytes: float) -> list[Figure]:
        return [
            Figure(f"{what}, pipeline", megabytes / self.pipeline, "MB/s"),
            Figure(f"{what}, native core on {CORES} threads", megabytes / self.native, "MB/s"),
            Figure(f"{what}, row transfer to Python and back", megabytes / self.identity, "MB/s"),
        ]


def _measure(documents: Rows, uri: str, part: BenchWorkload, source: Path, repeats: int) -> _Found:
    matched = match_documents(documents, uri)
    unchanged = documents.mapInArrow(_unchanged, documents.schema)
    matcher = part.index().matcher()
    batches = pq.read_table(source, columns=["content"]).to_batches(max_chunksize=300)
    native = partial(_match_natively, matcher, [batch.column(0) for batch in batches])
    sides = {
        "pipeline": partial(discard_rows, matched),
        "native": native,
        "identity": partial(discard_rows, unchanged),
    }
    for work in sides.values():  # start workers, map the index, warm the automaton
        work()
    timings = interleaved(sides, repeats=repeats)
    return _Found(**{name: timing.median for name, timing in timings.items()})


def _match_natively(matcher: Matcher, batches: Sequence[pa.Array[Any]]) -> None:
    with ThreadPoolExecutor(CORES) as threads:
        for _ in threads.map(matcher.match_batch, batches):
            pass


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def discard_rows(rows: Rows) -> None:
    """Run a job and discard its result."""
    rows.write.format("noop").mode("overwrite").save()


def _small_files(spark: Session, documents: Sequence[bytes], folder: str, uri: str) -> list[Figure]:
    files = Path(folder) / "files"
    files.mkdir()
    for number, content in enumerate(documents):
        (files / f"{number}.xml").write_bytes(content)
    matched = match_documents(read_directory(spark, str(files), publisher="bench"), uri)
    seconds = interleaved({"files": partial(discard_rows, matched)}, repeats=3)["files"].median
    size = sum(map(len, documents)) / 1e6
    return [
        Figure(f"a directory of {len(documents):,} small files, pipeline", size / seconds, "MB/s"),
        Figure("the same, files", len(documents) / seconds, "per second"),
    ]


def write_documents(contents: Sequence[bytes], folder: Path) -> int:
    """Write documents as Parquet files, one per core; return the size of the documents in bytes."""
    folder.mkdir()
    copies = [content for _ in range(COPIES) for content in contents]
    for core in range(CORES):
        numbers = range(core, len(copies), CORES)
        columns: dict[str, Any] = {
            "document": [f"bench/{number}" for number in numbers],
            "publisher": ["bench"] * len(numbers),
            "schema": ["news"] * len(numbers),
            "fields": [[] for _ in numbers],
            "sequence": list(numbers),
            "published_at": [datetime(2026, 1, 1, tzinfo=UTC)] * len(numbers),
            "content": [copies[number] for number in numbers],
        }
        table = pa.table(columns, schema=DOCUMENTS)
        pq.write_table(table, folder / f"{core}.parquet", row_group_size=1_000)
    return sum(map(len, copies))


def subscription_table(workload: BenchWorkload) -> pa.Table:
    """The subscriptions as a table of an index version."""
    count = len(workload.ids)
    columns: dict[str, Any] = {
        "subscription": workload.ids,
        "subscriber": workload.ids,
        "kind": ["xpath"] * count,
        "query": workload.queries,
        "namespaces": [[]] * count,
        "default_namespace": [None] * count,
        "returns": ["document"] * count,
        "starts_at": [None] * count,
        "expires_at": [None] * count,
        "where": [None] * count,
        "fragments_max": [None] * count,
    }
    return pa.table(columns, schema=SUBSCRIPTIONS)
