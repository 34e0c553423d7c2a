"""Kills a running pipeline repeatedly while documents are published and subscriptions change.

Each kill has a victim and a moment. Both are drawn at random, but all of them equally often. To hit
the time between two commits, the campaign watches for the file that completes the first.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from penstock.workspace import Workspace
from support.spark.delivery_audit import Audit, audit
from support.spark.pipeline_process import SURVIVED, VICTIMS, PipelineProcess, Victim
from support.spark.workspace_traffic import Traffic

Moment: TypeAlias = Literal[
    "starting",
    "batch begun",
    "matching",
    "documents committed",
    "dead letters committed",
    "deliveries committed",
    "batch committed",
    "backfill delivered",
    "idle",
]
"""When to kill."""

MOMENTS: tuple[Moment, ...] = get_args(Moment)

WAIT_SECONDS_MAX = 400
"""Seconds to wait for a moment; generous for busy machines."""

NUMBERED = re.compile(r"(\d+)(\.json)?")
"""The name of a completed file of a Delta log, a checkpoint or the batch records."""

PAUSE_SECONDS = 0.1
"""Seconds between two looks whether the last run proceeds."""

POLL_SECONDS = 0.001
"""Shorter than the few milliseconds between two commits."""


@dataclass(slots=True)
class Campaign:
    """A series of kills that a workspace must survive.

    Parameters
    ----------
    folder
        The folder of the workspace and all temporary files.
    seed
        The seed of all random choices. Only the machine's timing is not reproducible.
    report
        Called with a line for each kill.
    """

    folder: Path
    seed: int
    report: Callable[[str], None]
    kills: Counter[tuple[Victim, Moment]] = field(default_factory=Counter)
    _current: PipelineProcess | None = None
    _runs: list[PipelineProcess] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def run(self, kills: int) -> Audit:
        """Kill the given number of times, drain the inbox, and audit the tables."""
        rng = random.Random(self.seed)
        Workspace.create(self.workspace).close()
        traffic = Traffic(self.workspace, random.Random(rng.random()))
        try:
            with traffic:
                for victim, moment in _plan(kills, rng):
                    self._kill(victim, moment, traffic, rng)
                    traffic.check()
            self._drain()
        finally:
            for run in self._runs:
                run.close()
        with Workspace.open(self.workspace) as workspace:
            assert not workspace.subscriptions.backfills_wanted()
            return audit(workspace, traffic)

    def _kill(self, victim: Victim, moment: Moment, traffic: Traffic, rng: random.Random) -> None:
        began = time.monotonic()
        run = self._running(fresh=moment == "starting")
        if moment in ("backfill delivered", "idle"):
            with traffic.paused():
                self._wait_until(lambda: traffic.backlog() == 0, run, moment)
                if moment == "backfill delivered":
                    last = self._last_file("deliveries")
                    traffic.request_backfill()
                    self._wait_until(lambda: self._last_file("deliveries") != last, run, moment)
                else:
                    time.sleep(rng.uniform(0, 1))
                self._kill_victim(run, victim, moment)
        else:
            self._wait_for(moment, run, rng)
            self._kill_victim(run, victim, moment)
        self.kills[victim, moment] += 1
        self.report(
            f"kill {self.kills.total()}: {victim}, {moment}, after {time.monotonic() - began:.1f} s"
        )
        if victim not in SURVIVED:
            self._check_end(run, victim)

    def _wait_for(self, moment: Moment, run: PipelineProcess, rng: random.Random) -> None:
        if moment == "starting":
            time.sleep(rng.uniform(0, 5))
            return
        watched = {
            "batch begun": "offsets",
            "matching": "records",
            "documents committed": "documents",
            "dead letters committed": "dead_letters",
            "deliveries committed": "deliveries",
            "batch committed": "counts",
        }[moment]
        last = self._last_file(watched)
        self._wait_until(lambda: self._last_file(watched) != last, run, moment)
        if moment == "matching":
            time.sleep(rng.uniform(0, 0.5))
        elif moment == "batch committed":
            time.sleep(rng.uniform(0, 0.05))

    def _kill_victim(self, run: PipelineProcess, victim: Victim, moment: Moment) -> None:
        # The victim may not have started yet.
        self._wait_until(lambda: run.kill(victim), run, moment)

    def _last_file(self, what: str) -> int:
        """The number of the last file of a Delta log, of the offsets or the records; -1 if none."""
        checkpoint = self.workspace / "checkpoints" / "inbox"
        folder = self.workspace / "tables" / what / "_delta_log"
        if what == "offsets":
            folder = checkpoint / "offsets"
        try:
            if what == "records":
                stream = json.loads((checkpoint / "penstock-stream.json").read_text())["stream"]
                folder = self.workspace / "batches" / stream
            names = os.listdir(folder)
        except FileNotFoundError:
            return -1
        numbers = (NUMBERED.fullmatch(name) for name in names)
        return max((int(found[1]) for found in numbers if found), default=-1)

    def _running(self, *, fresh: bool) -> PipelineProcess:
        """A run that follows the inbox; a new one if there is none or ``fresh`` is set."""
        if self._current is not None and fresh:
            self._stop()
        if self._current is None:
            self._current = self._start("--follow")
        return self._current

    def _start(self, *options: str) -> PipelineProcess:
        scratch = self.folder / f"run-{len(self._runs)}"
        run = PipelineProcess(
            self.workspace, scratch, "--documents-per-batch", "1", "--json", *options
        )
        self._runs.append(run)
        return run

    def _stop(self) -> None:
        if self._current is not None:
            assert self._current.terminate() == 0, self._current.output()
            self._current = None

    def _wait_until(self, condition: Callable[[], bool], run: PipelineProcess, moment: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not condition():
            assert not run.ended, f"the run ended before: {moment}\n{run.output()}"
            assert time.monotonic() < deadline, f"the run did not reach: {moment}\n{run.output()}"
            time.sleep(POLL_SECONDS)

    def _check_end(self, run: PipelineProcess, victim: Victim) -> None:
        code = run.wait()
        if victim == "jvm":
            # The driver must neither hang nor hide the reason.
            assert code > 0, run.output()
            assert "pipeline.failed" in run.output(), run.output()
        # The next run does not wait for remaining processes, which must do no harm.
        self._current = None

    def _drain(self) -> None:
        self._stop()
        last = self._start()
        # A busy machine may need long for the rest, but not for a batch of one document.
        committed, deadline = -1, 0.0
        while not last.ended:
            if committed != (now := self._last_file("counts")):
                committed, deadline = now, time.monotonic() + WAIT_SECONDS_MAX
            assert time.monotonic() < deadline, f"the run does not proceed\n{last.output()}"
            time.sleep(PAUSE_SECONDS)
        assert last.wait() == 0, last.output()


def _plan(kills: int, rng: random.Random) -> Iterator[tuple[Victim, Moment]]:
    """Pairs of victims and moments in random order, all of them equally often."""
    victims: list[Victim] = []
    moments: list[Moment] = []
    for _ in range(kills):
        victims = victims or rng.sample(VICTIMS, len(VICTIMS))
        moments = moments or rng.sample(MOMENTS, len(MOMENTS))
        yield victims.pop(), moments.pop()


def summary(kills: Counter[tuple[Victim, Moment]], found: Audit) -> Iterator[str]:
    """The kills and the audited numbers, as lines of text."""
    victims = Counter(victim for victim, _ in kills.elements())
    moments = Counter(moment for _, moment in kills.elements())
    yield f"survived {kills.total()} kills"
    yield "victims: " + ", ".join(f"{victim} {victims[victim]}" for victim in VICTIMS)
    yield "moments: " + ", ".join(f"{moment} {moments[moment]}" for moment in MOMENTS)
    yield (
        f"{found.documents} documents and {found.dead} dead letters in {found.batches} batches,"
        f" {found.deliveries} deliveries: all exactly once"
    )
