"""``penstock run``: runs the pipeline of a workspace and shows its progress."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from penstock.cli.commands.status import damage_line
from penstock.cli.console import err, note, out, plural, print_json
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import JsonOption, WorkspaceOption
from penstock.cli.spark_options import (
    ConfOption,
    MasterOption,
    RemoteOption,
    check_java,
    spark_options,
)
from penstock.cli.stop_signals import BackgroundWork, StopSignals, exit_at_once

if TYPE_CHECKING:
    from penstock.pipeline.progress import BatchProgress

VIEW_REFRESHES_PER_SECOND = 4

LINE_SECONDS = 30
"""Seconds between two lines about a batch in progress."""


class RunMode(StrEnum):
    """How to treat refused documents; see :data:`penstock.pipeline.run_config.MODES`."""

    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"
    FAILFAST = "FAILFAST"


class UnknownSchema(StrEnum):
    """The values of :data:`penstock.mediation.mapping_table.UNKNOWN_SCHEMA`."""

    REFUSE = "refuse"
    AS_IS = "as-is"


def run(
    *,
    workspace: WorkspaceOption = Path(),
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for new documents until interrupted.")
    ] = False,
    master: MasterOption = None,
    remote: RemoteOption = None,
    conf: ConfOption = None,
    mode: Annotated[
        RunMode,
        typer.Option(
            help="How to treat refused documents: keep them as dead letters, drop them, or stop."
        ),
    ] = RunMode.PERMISSIVE,
    unknown_schema: Annotated[
        UnknownSchema,
        typer.Option(
            help="How to treat documents that name an unregistered schema: refuse them, or match"
            " them without a mapping."
        ),
    ] = UnknownSchema.REFUSE,
    documents_per_batch: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of documents per micro-batch.")
    ] = None,
    shards: Annotated[
        int,
        typer.Option(
            min=1,
            help="Parts to divide the subscriptions into, if their index exceeds the memory of a"
            " worker. Every document is matched against each part.",
        ),
    ] = 1,
    as_json: JsonOption = False,
) -> None:
    """Match the documents in the inbox and deliver them to the mailboxes.

    Stops when the inbox is empty, unless --follow is given. An interrupted run can be repeated: it
    continues where the last one stopped, loses nothing and delivers nothing twice.
    """
    from penstock.pipeline.run import run as run_pipeline
    from penstock.pipeline.run_config import RunConfig
    from penstock.pipeline.session import session
    from penstock.workspace import Workspace
    from penstock.workspace.private_files import create_private
    from penstock.workspace.status import past_deliveries

    for_spark = spark_options(master, remote, conf)
    config = RunConfig(
        follow=follow,
        unknown_schema=unknown_schema.value,
        mode=mode.value,
        documents_per_batch=documents_per_batch,
        shards=shards,
    )
    check_java(for_spark)
    totals = _Totals()
    # The lock comes first: starting Spark takes seconds.
    with Workspace.open(workspace) as opened, opened.lock("run", wait=False), StopSignals() as stop:
        past_before = past_deliveries(opened.tables)
        log = opened.log
        create_private(log)
        view: _View = _LiveView(totals) if err().is_terminal else _LineView()

        damaged = set(opened.inbox.damaged())

        def on_batch(progress: BatchProgress) -> None:
            totals.add(progress)
            view.batch(progress)
            for each in opened.inbox.damaged():
                if each not in damaged:
                    damaged.add(each)
                    note(damage_line(each))

        has_started = threading.Event()

        def work() -> None:
            view.activity("starting Spark")
            with session(
                master=for_spark.master,
                remote=for_spark.remote,
                settings=for_spark.settings,
                log=log,
            ) as spark:
                if stop.requested.is_set():
                    return
                view.activity(
                    "following the inbox; stop with Ctrl-C" if follow else "reading the inbox"
                )
                totals.start_clock()
                has_started.set()
                run_pipeline(
                    spark,
                    opened,
                    config,
                    on_batch,
                    on_progress=view.progress,
                    stop=stop.requested,
                )

        with spark_messages_to(log), view:
            running = BackgroundWork(work)
            # While Spark starts, it cannot be stopped, and nothing would be lost.
            has_ended = running.wait(stop, is_stoppable=has_started.is_set)
        if has_ended:
            _raise_failure(running, is_stopped=stop.requested.is_set())
        totals.past = past_deliveries(opened.tables) - past_before
        if stop.requested.is_set():
            waiting = opened.status().waiting
            note(f"stopped; {plural(waiting, 'document')} waiting for the next run")
        totals.show(as_json=as_json)
        code = ExitCode.SUCCESS if follow else ExitCode.CHECK_FAILED
        if not has_ended:
            exit_at_once(code)  # what Spark still does must not delay the end
        if stop.requested.is_set():
            raise typer.Exit(code)


def _raise_failure(work: BackgroundWork[None], *, is_stopped: bool) -> None:
    """Raises what ended the work, except if it was the signal that stopped the run."""
    try:
        work.result()
    except BaseException as failure:
        if not (is_stopped and _is_interruption(failure)):
            raise


def _is_interruption(failure: BaseException) -> bool:
    """Whether a failure is what Ctrl-C causes in Spark's Python processes.

    A terminal sends the signal to them too. The batch is then abandoned in any case.
    """
    from penstock.pipeline.session import JAVA_FAILURES, is_worker_loss

    cause = failure.__cause__
    return isinstance(cause, JAVA_FAILURES) and (
        KeyboardInterrupt.__name__ in str(cause) or is_worker_loss(cause)
    )


@contextlib.contextmanager
def spark_messages_to(log: Path) -> Iterator[None]:
    """Redirects what Spark's client logs, such as the traces of an abandoned batch, to a file."""
    handler = logging.FileHandler(log, encoding="utf-8", delay=True)
    loggers = [logging.getLogger(name) for name in ("py4j", "pyspark", "SQLQueryContextLogger")]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
    try:
        yield
    finally:
        for logger, (handlers, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
        handler.close()


class _Totals:
    """Accumulates the counts of all batches of a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.batches = 0
        self.past = 0
        from penstock.pipeline.delivery import BatchCounts

        self.counts: dict[str, int] = asdict(BatchCounts())
        self.last: BatchProgress | None = None

    def start_clock(self) -> None:
        self._started = time.monotonic()

    def add(self, progress: BatchProgress) -> None:
        with self._lock:
            self.batches += 1
            self.last = progress
            for name, count in asdict(progress.counts).items():
                self.counts[name] += count

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

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
            note(
                f"and {plural(self.past, 'delivery', 'deliveries')} of earlier documents (backfill)"
            )
        if counts["unknown_elements"]:
            unknown = plural(counts["unknown_elements"], "element")
            note(f"{unknown} not in the local schemas: `penstock status` lists the publishers")
        if counts["set_aside"]:
            pairs = plural(counts["set_aside"], "match was", "matches were")
            note(f"{pairs} not decided (limit.work): `penstock status` lists the subscriptions")
        if counts["dead"]:
            note("`penstock dead-letters list` shows which documents were refused, and why")


class _View(Protocol):
    """Shows the progress of a run on stderr."""

    def activity(self, text: str) -> None:
        """Shows the current activity."""

    def progress(self, documents: int) -> None:
        """Shows how many documents of the current batch are matched."""

    def batch(self, progress: BatchProgress) -> None:
        """Shows a committed batch."""

    def __enter__(self) -> object:
        """Starts the view."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stops the view."""


class _LineView(contextlib.AbstractContextManager["_LineView"]):
    """Prints one line per batch, and now and then one within a long batch, for pipes and logs."""

    def __init__(self) -> None:
        self._shown_at = time.monotonic()

    def progress(self, documents: int) -> None:
        if documents and time.monotonic() - self._shown_at > LINE_SECONDS:
            self._shown_at = time.monotonic()
            note(f"batch in progress: {plural(documents, 'document')} matched")

    def activity(self, text: str) -> None:
        note(text)

    def batch(self, progress: BatchProgress) -> None:
        self._shown_at = time.monotonic()
        counts = progress.counts
        note(
            f"batch {progress.batch}: {plural(counts.documents, 'document')},"
            f" {plural(counts.deliveries, 'delivery', 'deliveries')}, {counts.dead:,} dead,"
            f" {progress.seconds:.1f} s, {progress.megabytes_per_second:.2f} MB/s,"
            f" {progress.waiting or 0:,} waiting"
        )

    def __exit__(self, *_: object) -> None:
        pass


class _LiveView(contextlib.AbstractContextManager["_LiveView"]):
    """Updates a table in place, for terminals."""

    def __init__(self, totals: _Totals) -> None:
        self._totals = totals
        self._activity = ""
        self._in_progress = 0
        # A stream of its own: while Spark starts, the one of this process is redirected.
        self._stream = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding)
        self._live = Live(
            console=Console(file=self._stream, highlight=False, markup=False, emoji=False),
            get_renderable=self._table,
            refresh_per_second=VIEW_REFRESHES_PER_SECOND,
        )

    def activity(self, text: str) -> None:
        self._activity = text

    def progress(self, documents: int) -> None:
        self._in_progress = documents

    def batch(self, _progress: BatchProgress) -> None:
        self._in_progress = 0
        self._live.refresh()

    def _table(self) -> Table:
        totals = self._totals
        counts = totals.counts
        table = Table(box=None, title=self._activity, title_justify="left")
        row: dict[str, Any] = {
            "documents": counts["documents"],
            "in progress": self._in_progress,
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

    def __enter__(self) -> _LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        self._stream.close()
