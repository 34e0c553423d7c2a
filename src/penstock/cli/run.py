"""``penstock run``: the pipeline of a workspace, with a view of how it goes."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol

from rich.live import Live
from rich.table import Table

from penstock.cli.console import ExitCode, err, note, out, plural, print_json
from penstock.cli.spark_options import SparkOptions, check_java
from penstock.pipeline.delivery import BatchCounts
from penstock.pipeline.progress import BatchProgress
from penstock.pipeline.run import RunOptions
from penstock.pipeline.run import run as run_pipeline
from penstock.pipeline.session import session
from penstock.workspace import Workspace
from penstock.workspace.status import past_deliveries

VIEW_REFRESHES_PER_SECOND = 4


def run(
    folder: Path, spark_options: SparkOptions, options: RunOptions, *, as_json: bool
) -> ExitCode:
    """Runs the pipeline to the end of the inbox, or until interrupted."""
    check_java(spark_options)
    totals = _Totals()
    with Workspace.open(folder) as workspace, _interruptible():
        past_before = past_deliveries(workspace.tables)
        view: _View = _Live(totals) if err().is_terminal else _Lines()
        with contextlib.suppress(KeyboardInterrupt), view:
            view.say("starting Spark")
            with session(
                master=spark_options.master,
                remote=spark_options.remote,
                settings=spark_options.settings,
                log=workspace.path / "spark.log",
            ) as spark:
                view.say(
                    "following the inbox; stop with Ctrl-C"
                    if options.follow
                    else "reading the inbox"
                )

                def tell(progress: BatchProgress) -> None:
                    totals.add(progress)
                    view.batch(progress)

                totals.begin()
                run_pipeline(spark, workspace, options, tell)
        totals.past = past_deliveries(workspace.tables) - past_before
    totals.show(as_json=as_json)
    return ExitCode.DONE


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let a service manager's stop end a run as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Totals:
    """What became of all documents of this run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self.batches = 0
        self.past = 0
        self.counts: dict[str, int] = asdict(BatchCounts())
        self.last: BatchProgress | None = None

    def begin(self) -> None:
        self._began = time.monotonic()

    def add(self, progress: BatchProgress) -> None:
        with self._lock:
            self.batches += 1
            self.last = progress
            for name, count in asdict(progress.counts).items():
                self.counts[name] += count

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def show(self, *, as_json: bool) -> None:
        seconds = self.seconds
        rate = self.counts["bytes"] / 1e6 / seconds if seconds else 0.0
        if as_json:
            print_json(
                {
                    "type": "summary",
                    "batches": self.batches,
                    **self.counts,
                    "past_deliveries": self.past,
                    "seconds": round(seconds, 3),
                    "megabytes_per_second": round(rate, 3),
                }
            )
            return
        counts = self.counts
        out().print(
            f"{plural(counts['documents'], 'document')}: {counts['matched']} matched,"
            f" {counts['unmatched']} unmatched, {counts['dead']} dead;"
            f" {plural(counts['deliveries'], 'delivery', 'deliveries')}"
            f" in {plural(self.batches, 'batch', 'batches')}, {seconds:.1f} s"
        )
        if self.past:
            note(f"and {plural(self.past, 'delivery', 'deliveries')} of past documents")
        if counts["unknown_elements"]:
            unknown = plural(counts["unknown_elements"], "element")
            note(f"{unknown} that local schemas do not have: `penstock status` shows whose")
        if counts["dead"]:
            note("`penstock dead-letters list` shows what was refused and why")


class _View(Protocol):
    """Shows a run on stderr."""

    def say(self, text: str) -> None:
        """What is being done."""

    def batch(self, progress: BatchProgress) -> None:
        """A batch was committed."""

    def __enter__(self) -> object:
        """Begins to show."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends."""


class _Lines(contextlib.AbstractContextManager["_Lines"]):
    """A line for each batch, for pipes and logs."""

    def say(self, text: str) -> None:
        note(text)

    def batch(self, progress: BatchProgress) -> None:
        counts = progress.counts
        note(
            f"batch {progress.batch}: {plural(counts.documents, 'document')},"
            f" {plural(counts.deliveries, 'delivery', 'deliveries')}, {counts.dead} dead,"
            f" {progress.seconds:.1f} s, {progress.megabytes_per_second:.2f} MB/s,"
            f" {progress.waiting or 0:,} waiting"
        )

    def __exit__(self, *_: object) -> None:
        pass


class _Live(contextlib.AbstractContextManager["_Live"]):
    """A table that changes in place, for terminals."""

    def __init__(self, totals: _Totals) -> None:
        self._totals = totals
        self._doing = ""
        self._live = Live(
            console=err(),
            get_renderable=self._table,
            refresh_per_second=VIEW_REFRESHES_PER_SECOND,
        )

    def say(self, text: str) -> None:
        self._doing = text

    def batch(self, _progress: BatchProgress) -> None:
        self._live.refresh()

    def _table(self) -> Table:
        totals = self._totals
        counts = totals.counts
        table = Table(box=None, title=self._doing, title_justify="left")
        row: dict[str, Any] = {
            "documents": counts["documents"],
            "matched": counts["matched"],
            "unmatched": counts["unmatched"],
            "dead letters": counts["dead"],
            "deliveries": counts["deliveries"],
            "batches": totals.batches,
            "MB/s": f"{totals.last.megabytes_per_second:.2f}" if totals.last else "-",
            "waiting": f"{totals.last.waiting or 0:,}" if totals.last else "-",
        }
        for name in row:
            table.add_column(name, justify="right")
        table.add_row(*map(str, row.values()))
        return table

    def __enter__(self) -> _Live:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        sys.stderr.flush()
