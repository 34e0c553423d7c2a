"""Throughput from ``publish`` to committed mailboxes, against matching alone.

Both sides match the same documents against the same subscriptions in the same Spark session. The
reference is ``match_documents`` from Parquet files, with the result discarded. The other side is
everything that a deployment does: documents are published to the inbox of a running stream, which
reads and matches them, writes documents and deliveries, and commits them.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable

from penstock.documents import Document, Header
from penstock.lab.bench.bench_workload import BenchWorkload, Setting, draw
from penstock.lab.bench.pipeline import COPIES, CORES, discard_rows, write_documents
from penstock.lab.bench.report import BenchResults, Progress
from penstock.lab.bench.timing import once
from penstock.pipeline.document_matching import match_documents
from penstock.pipeline.inbox_stream import run_workspace
from penstock.pipeline.run_config import RunConfig
from penstock.pipeline.session import Rows, Stream, session
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.compaction import compact

DELIVERIES_PER_DOCUMENT = 15
"""Mean number of subscriptions that a document matches."""

SAMPLE = 500
"""Documents by which the subscriptions that match most often are found."""

SUBSCRIBERS = 10_000
"""Subscribers, who share the subscriptions evenly."""

POLL = 0.1
"""Seconds between two looks of the stream for new documents."""

WARM_UP_ROUNDS = 4
"""Rounds before those that are measured. A stream runs for days, but the JVM compiles what a batch
executes once or twice only after many batches: without more rounds, its compiler would take a
quarter of the CPU time. Matching is warmed up by the same rounds."""

SETTING = Setting(subscriptions=100_000, documents=2_000, repeats=5)
SETTING_QUICK = Setting(subscriptions=1_000, documents=20, repeats=1)


def measure(results: BenchResults, *, quick: bool, progress: Progress) -> None:
    """Add the throughput of delivery to the results."""
    setting = SETTING_QUICK if quick else SETTING
    progress("bench delivery: generating")
    workload = selective_workload(setting)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "documents"
        megabytes = write_documents(workload.documents, source) / 1e6
        with (
            Workspace.create(f"{folder}/workspace") as workspace,
            session(
                master=f"local[{CORES},4]", remote=None, settings={}, log=Path(folder) / "spark.log"
            ) as spark,
        ):
            added = workspace.subscriptions.add_many(list(_subscriptions(workload)))
            assert not added.refused
            stream = run_workspace(spark, workspace, RunConfig(follow=True, poll_seconds=POLL))
            rounds = []
            warm_up = 1 if quick else WARM_UP_ROUNDS
            for number in range(warm_up + setting.repeats):
                progress(
                    f"bench delivery: throughput, round {number + 1} of"
                    f" {warm_up + setting.repeats}, {warm_up} to warm up"
                )
                documents = list(_published(workload.documents, number))
                matched = match_documents(
                    spark.read.parquet(str(source)), workspace.current_version()
                )
                rounds.append(_round(workspace, stream, matched, documents))
            stream.stop()
            _add_figures(results, rounds[warm_up:], megabytes)
            counts: Any = DeltaTable(workspace.tables.counts).to_pyarrow_table()
            deliveries, documents = (
                sum(counts.column(name).to_pylist()) for name in ("deliveries", "documents")
            )
            files = len(DeltaTable(workspace.tables.deliveries).file_uris())
            results.figure("deliveries per document", deliveries / documents, "")
            results.figure("files with deliveries, of all rounds", files, "")


def selective_workload(setting: Setting) -> BenchWorkload:
    """News and subscriptions of which a document matches :data:`DELIVERIES_PER_DOCUMENT`.

    The generator's first queries are its most frequent ones. Those that match most often are
    replaced by others.
    """
    workload = draw("paths-sparse", setting, extra=setting.subscriptions // 5)
    matcher = workload.index().matcher()
    sample = workload.documents[:SAMPLE]
    counts = Counter(id_ for document in sample for id_ in matcher.match(document).ids)
    wanted = DELIVERIES_PER_DOCUMENT * len(sample)
    kept: set[str] = set()
    matches = 0
    for id_, count in reversed(counts.most_common()):  # the rarest first
        if matches + count > wanted:
            break
        kept.add(id_)
        matches += count
    frequent = counts.keys() - kept
    pairs = [
        pair for pair in zip(workload.ids, workload.queries, strict=True) if pair[0] not in frequent
    ][: setting.subscriptions]
    return BenchWorkload(
        [id_ for id_, _ in pairs], [query for _, query in pairs], workload.documents
    )


class _Round(NamedTuple):
    """Seconds of one round."""

    matching: float
    publishing: float
    """Within ``delivery``."""
    delivery: float
    """From the first call of ``publish`` to the last commit."""
    compaction: float


def _round(
    workspace: Workspace, stream: Stream, matched: Rows, documents: Sequence[Document]
) -> _Round:
    matching = once(lambda: discard_rows(matched))
    publishing = once(lambda: workspace.publish(documents))
    committing = once(stream.processAllAvailable)
    compaction = once(lambda: compact(workspace.tables))
    return _Round(matching, publishing, publishing + committing, compaction)


def _published(contents: Sequence[bytes], number: int) -> Iterator[Document]:
    """The documents of a round, which differ from those of other rounds by a comment at the end."""
    for copy in range(COPIES):
        comment = b"<!-- %d %d -->" % (number, copy)
        for content in contents:
            yield Document(content + comment, Header(publisher="bench"))


def _subscriptions(workload: BenchWorkload) -> Iterator[StoredSubscription]:
    for number, (id_, query) in enumerate(zip(workload.ids, workload.queries, strict=True)):
        subscriber = f"subscriber{number % SUBSCRIBERS}"
        yield StoredSubscription(id=id_, subscriber=subscriber, query=query)


def _add_figures(results: BenchResults, rounds: Sequence[_Round], megabytes: float) -> None:
    ratios = [each.matching / each.delivery for each in rounds]
    results.values["throughput"] = statistics.median(ratios)
    medians = _Round(*(statistics.median(times) for times in zip(*rounds, strict=True)))
    results.figure("publish to committed mailboxes", megabytes / medians.delivery, "MB/s")
    results.figure("publishing, while the stream runs", megabytes / medians.publishing, "MB/s")
    # Only every few rounds compact something, so a median would leave it out.
    with_compaction = medians.delivery + statistics.mean(each.compaction for each in rounds)
    results.figure("publish to compacted mailboxes", megabytes / with_compaction, "MB/s")
    results.figure("match_documents, result discarded", megabytes / medians.matching, "MB/s")
