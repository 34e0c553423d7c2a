"""A pipeline that is killed again and again, while documents and subscriptions keep coming.

Each kill has a victim and a moment. Both are drawn at random, but so that all come equally often;
the moments between two commits are hit by watching for the file that ends the one before.
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
    "past delivered",
    "idle",
]
"""When to kill."""

MOMENTS: tuple[Moment, ...] = get_args(Moment)

WAIT_SECONDS_MAX = 400
"""How long a moment may let itself be waited for, on a machine with much else to do."""

NUMBERED = re.compile(r"(\d+)(\.json)?")
"""The name of a file that is finished, of a table's log, a checkpoint or a batch's record."""

LOOK_SECONDS = 0.001
"""A commit takes some milliseconds: to hit the time between two, one has to look more often."""


@dataclass(slots=True)
class Campaign:
    """Kills that a workspace has survived.

    Parameters
    ----------
    folder
        Where the workspace is made, with all temporary files.
    seed
        Of everything that is drawn; only the machine's own timing is not repeated by it.
    tell
        Called with each thing that is done.
    """

    folder: Path
    seed: int
    tell: Callable[[str], None]
    kills: Counter[tuple[Victim, Moment]] = field(default_factory=Counter)
    _run: PipelineProcess | None = None
    _runs: list[PipelineProcess] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def go(self, kills: int) -> Audit:
        """Kill so often, drain the inbox, and look whether all is as it must be."""
        chance = random.Random(self.seed)
        Workspace.create(self.workspace).close()
        traffic = Traffic(self.workspace, random.Random(chance.random()))
        try:
            with traffic:
                for victim, moment in _plan(kills, chance):
                    self._kill(victim, moment, traffic, chance)
                    traffic.check()
            self._drain()
        finally:
            for run in self._runs:
                run.close()
        with Workspace.open(self.workspace) as workspace:
            assert not workspace.subscriptions.backfills_wanted()
            return audit(workspace, traffic)

    def _kill(
        self, victim: Victim, moment: Moment, traffic: Traffic, chance: random.Random
    ) -> None:
        began = time.monotonic()
        run = self._running(fresh=moment == "starting")
        if moment in ("past delivered", "idle"):
            with traffic.hold():
                self._until(lambda: traffic.backlog() == 0, run, moment)
                if moment == "past delivered":
                    seen = self._seen("deliveries")
                    traffic.ask_for_the_past()
                    self._until(lambda: self._seen("deliveries") != seen, run, moment)
                else:
                    time.sleep(chance.uniform(0, 1))
                self._strike(run, victim, moment)
        else:
            self._await(moment, run, chance)
            self._strike(run, victim, moment)
        self.kills[victim, moment] += 1
        self.tell(
            f"kill {self.kills.total()}: {victim}, {moment}, after {time.monotonic() - began:.1f} s"
        )
        if victim not in SURVIVED:
            self._ended(run, victim)

    def _await(self, moment: Moment, run: PipelineProcess, chance: random.Random) -> None:
        if moment == "starting":
            time.sleep(chance.uniform(0, 5))
            return
        watched = {
            "batch begun": "offsets",
            "matching": "records",
            "documents committed": "documents",
            "dead letters committed": "dead_letters",
            "deliveries committed": "deliveries",
            "batch committed": "counts",
        }[moment]
        seen = self._seen(watched)
        self._until(lambda: self._seen(watched) != seen, run, moment)
        if moment == "matching":
            time.sleep(chance.uniform(0, 0.5))
        elif moment == "batch committed":
            time.sleep(chance.uniform(0, 0.05))

    def _strike(self, run: PipelineProcess, victim: Victim, moment: Moment) -> None:
        # A worker that is not there yet is waited for.
        self._until(lambda: run.kill(victim), run, moment)

    def _seen(self, what: str) -> int:
        """The number of the last file of that kind; -1 where there is none."""
        checkpoint = self.workspace / "checkpoints" / "deliveries"
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
        """A run that follows the inbox; a new one where there is none, or a fresh one is wanted."""
        if self._run is not None and fresh:
            self._stop()
        if self._run is None:
            self._run = self._start("--follow")
        return self._run

    def _start(self, *options: str) -> PipelineProcess:
        scratch = self.folder / f"run-{len(self._runs)}"
        run = PipelineProcess(self.workspace, scratch, "--files-per-batch", "1", "--json", *options)
        self._runs.append(run)
        return run

    def _stop(self) -> None:
        if self._run is not None:
            assert self._run.terminate() == 0, self._run.said()
            self._run = None

    def _until(self, condition: Callable[[], bool], run: PipelineProcess, moment: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not condition():
            assert not run.ended, f"the run ended by itself before: {moment}\n{run.said()}"
            assert time.monotonic() < deadline, f"it did not come to: {moment}\n{run.said()}"
            time.sleep(LOOK_SECONDS)

    def _ended(self, run: PipelineProcess, victim: Victim) -> None:
        code = run.wait()
        if victim == "jvm":
            # The driver is left: it must not hang, and must say what happened.
            assert code > 0, run.said()
            assert "pipeline.failed" in run.said(), run.said()
        # What it leaves behind must do no harm: the next run does not wait until that is gone.
        self._run = None

    def _drain(self) -> None:
        self._stop()
        last = self._start()
        assert last.wait() == 0, last.said()


def _plan(kills: int, chance: random.Random) -> Iterator[tuple[Victim, Moment]]:
    """Victims and moments in random order, each as often as any other, in ever new pairs."""
    victims: list[Victim] = []
    moments: list[Moment] = []
    for _ in range(kills):
        victims = victims or chance.sample(VICTIMS, len(VICTIMS))
        moments = moments or chance.sample(MOMENTS, len(MOMENTS))
        yield victims.pop(), moments.pop()


def summary(kills: Counter[tuple[Victim, Moment]], found: Audit) -> Iterator[str]:
    """What was survived, and what was then in the tables, in lines."""
    victims = Counter(victim for victim, _ in kills.elements())
    moments = Counter(moment for _, moment in kills.elements())
    yield f"survived {kills.total()} kills"
    yield "victims: " + ", ".join(f"{victim} {victims[victim]}" for victim in VICTIMS)
    yield "moments: " + ", ".join(f"{moment} {moments[moment]}" for moment in MOMENTS)
    yield (
        f"{found.documents} documents and {found.dead} dead letters in {found.batches} batches,"
        f" {found.deliveries} deliveries: each there once, none missing, none too many"
    )
