"""Latency from the receipt of a published document to the commit of its deliveries.

Publishers are processes of their own, which publish one document a call at a fixed rate, and so is
``penstock run --follow``. A publisher that falls behind its schedule does not slow down the others.
Before, the pipeline processes documents for all of its workers: a worker takes seconds to start.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.documents import Document, Header
from penstock.lab.bench.bench_workload import BenchWorkload, Setting, draw
from penstock.lab.bench.report import BenchResults, Progress
from penstock.pipeline.limits import INBOX_PARTITION_BYTES
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.table_reader import read_rows

PUBLISHERS = 4
DOCUMENTS_PER_SECOND = 200
"""Documents that all publishers publish together."""

MINUTE = 60
DRAIN_SECONDS_MAX = 300
"""Seconds to wait for Spark to start, and for the last documents to be delivered."""

SUBSCRIBERS = 100

WARM_BYTES = 3 * INBOX_PARTITION_BYTES
"""Bytes of documents that are delivered before: enough for several tasks at once."""


@dataclass(frozen=True, slots=True)
class LatencySetting:
    """How long to publish, and what."""

    seconds: int
    workload: Setting


SETTING = LatencySetting(300, Setting(subscriptions=10_000, documents=500, repeats=1))
SETTING_QUICK = LatencySetting(12, Setting(subscriptions=200, documents=20, repeats=1))


class _Receipts(NamedTuple):
    """The documents of a publisher, with seconds since 1970."""

    sequences: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    calls: npt.NDArray[np.float64]
    """Seconds that each call took."""


def measure(results: BenchResults, *, quick: bool, progress: Progress) -> None:
    """Add the latency of delivery to the results."""
    setting = SETTING_QUICK if quick else SETTING
    progress("bench delivery: generating")
    workload = draw("paths-sparse", setting.workload)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workspace"
        documents = Path(folder) / "documents"
        _prepare(path, documents, workload, is_warm=not quick)
        with Workspace.open(path) as workspace:
            receipts = _publish(workspace, documents, setting, progress)
            _add_figures(results, workspace, receipts, setting)


def _prepare(path: Path, documents: Path, workload: BenchWorkload, *, is_warm: bool) -> None:
    documents.mkdir()
    for number, content in enumerate(workload.documents):
        (documents / f"{number}.xml").write_bytes(content)
    with Workspace.create(path) as workspace:
        workspace.subscriptions.add_many(
            [
                StoredSubscription(id=id_, subscriber=f"anna{number % SUBSCRIBERS}", query=query)
                for number, (id_, query) in enumerate(
                    zip(workload.ids, workload.queries, strict=True)
                )
            ]
        )
        size = sum(map(len, workload.documents))
        for copy in range(WARM_BYTES // size + 1 if is_warm else 1):
            workspace.publish(
                Document(content, Header(publisher="warm", id=f"{copy}-{number}"))
                for number, content in enumerate(workload.documents)
            )


def _publish(
    workspace: Workspace, documents: Path, setting: LatencySetting, progress: Progress
) -> list[_Receipts]:
    command = [sys.executable, "-m", "penstock", "run", "--follow", "-w", str(workspace.path)]
    log = workspace.path.parent / "run.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as run:
        try:
            progress("bench delivery: starting the pipeline")
            _wait_until_processed(workspace, run, log)
            progress(f"bench delivery: publishing for {setting.seconds} s")
            rate = DOCUMENTS_PER_SECOND / PUBLISHERS
            publishers = [
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", __name__, str(workspace.path), str(documents)),
                        *(str(number), str(rate), str(setting.seconds)),
                    ],
                    stdout=subprocess.PIPE,
                )
                for number in range(PUBLISHERS)
            ]
            outputs = [publisher.communicate()[0] for publisher in publishers]
            _wait_until_processed(workspace, run, log)
        finally:
            run.terminate()
    return [_parse(output) for output in outputs]


def _wait_until_processed(workspace: Workspace, run: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + DRAIN_SECONDS_MAX
    while workspace.status().waiting:
        if run.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the pipeline does not deliver: {log.read_text()[-2000:]}")
        time.sleep(0.5)


def _parse(output: bytes) -> _Receipts:
    rows = [json.loads(line) for line in output.splitlines()]
    return _Receipts(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.float64),
        np.array([row[2] for row in rows], np.float64),
    )


def latencies(
    sequences: npt.NDArray[np.int64],
    receipts: npt.NDArray[np.float64],
    batches: Sequence[tuple[int, float]],
) -> npt.NDArray[np.float64]:
    """The seconds from each receipt to the commit of its batch.

    Parameters
    ----------
    sequences, receipts
        The documents, and the times of their receipts.
    batches
        The last sequence number of each batch, and the time of its commit.

    Examples
    --------
    >>> latencies(np.array([1, 2, 3]), np.array([10.0, 11.0, 12.0]), [(2, 13.0), (3, 14.5)])
    array([3. , 2. , 2.5])
    """
    ordered = sorted(batches)
    lasts = np.array([last for last, _ in ordered])
    commits = np.array([at for _, at in ordered])
    committed: npt.NDArray[np.float64] = commits[np.searchsorted(lasts, sequences)] - receipts
    return committed


def _add_figures(
    results: BenchResults,
    workspace: Workspace,
    receipts: Sequence[_Receipts],
    setting: LatencySetting,
) -> None:
    counts = read_rows(workspace.tables.counts, None, ["last_sequence", "finished_at"])
    assert counts is not None, "the pipeline has delivered documents"
    batches = [
        (row["last_sequence"], row["finished_at"].timestamp())
        for row in counts.to_pylist()
        if row["last_sequence"] is not None
    ]
    sequences = np.concatenate([each.sequences for each in receipts])
    times = np.concatenate([each.times for each in receipts])
    calls = np.concatenate([each.calls for each in receipts])
    found = latencies(sequences, times, batches)
    since = times - times.min()
    part = min(MINUTE, setting.seconds / 3)
    first, last = found[since < part], found[since >= setting.seconds - part]
    rate = len(found) / max(float(since.max()), setting.seconds)
    results.values["latency_p50"] = float(np.percentile(found, 50))
    results.values["latency_p99"] = float(np.percentile(found, 99))
    results.values["latency_growth"] = float(np.percentile(last, 50) / np.percentile(first, 50))
    results.values["published_share"] = rate / DOCUMENTS_PER_SECOND
    results.figure("documents published, one a call", len(found), "")
    results.figure("micro-batches", len(batches), "")
    for name, values in (("first", first), ("last", last)):
        for share in (50, 99):
            figure = float(np.percentile(values, share))
            results.figure(f"latency, {name} {part:.0f} s, p{share}", figure, "s")
    for share in (50, 99):
        figure = float(np.percentile(calls, share)) * 1e3
        results.figure(f"a call of publish, p{share}", figure, "ms")


def publish_at_rate(
    workspace: str, documents: str, publisher: str, rate: float, seconds: float
) -> None:
    """Publish one document a call at a fixed rate; print the receipts."""
    contents = [path.read_bytes() for path in sorted(Path(documents).iterdir())]
    began = time.monotonic()
    receipts = []
    with Workspace.open(workspace) as opened:
        for number in range(int(rate * seconds)):
            time.sleep(max(0, began + number / rate - time.monotonic()))
            header = Header(publisher=publisher, id=str(number))
            document = Document(contents[number % len(contents)], header)
            called = time.monotonic()
            (receipt,) = opened.inbox.publish_each([document])
            receipts.append((receipt.sequence, time.time(), time.monotonic() - called))
    print("\n".join(map(json.dumps, receipts)))


if __name__ == "__main__":
    folder, contents_folder, name, per_second, duration = sys.argv[1:]
    publish_at_rate(folder, contents_folder, name, float(per_second), float(duration))
