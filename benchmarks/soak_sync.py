"""Kills a synchronisation server at random points while two people push: ``make soak``.

The server is a process of its own, and so is BaseX, where it keeps the document in a second part.
Each person has a working directory, adds a note to the file again and again, and pushes it. In the
end every note is in the document once, and both files are equal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError
from penstock.lab.bench.machine_description import this_machine
from penstock.service.sync import SyncConnection, WorkingDirectory, parse_url, synchronise
from penstock.service.sync.server_url import DocumentUrl
from penstock.sync import SyncSubscription

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.service.running_basex import COMMAND as BASEX_COMMAND  # noqa: E402
from support.service.running_basex import RunningBasex  # noqa: E402

RESULT = ROOT / "benchmarks" / "results" / "soak-sync.txt"
NOTES_KEPT = 200
"""Notes of a person in the document; older ones are removed by their author."""
SECONDS_MAX = 0.5
"""Longest time between the start of a server and its end."""
BASEX_SECONDS_MAX = 2.0
"""Likewise, if BaseX is killed: it is slower, and takes seconds to start."""


LAUNCHER = """
import asyncio, json, os, signal, sys
from pathlib import Path
from penstock.links import TcpAddress, run
from penstock.service.sync.process import ServeOptions, run_server
from penstock.workspace.basex_session import BasexServer

signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes ended children


def show(serving):
    print(json.dumps({"pid": os.getpid(), "url": serving.url}), flush=True)


for line in sys.stdin:
    if os.fork():
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    given = json.loads(line)
    basex = given["basex"]
    options = ServeOptions(
        folder=Path(given["store"]),
        listen=TcpAddress("127.0.0.1", given["port"]),
        documents={"log": Path(given["file"])},
        insecure=True,
        basex=None if basex is None else BasexServer(port=basex, password="admin"),
    )
    run(run_server(options, show))
    os._exit(0)
"""
"""Forks servers: one that has to import its modules first would not serve for most of the time."""


class ServerProcess:
    """A server whose port stays the same, as a child of a process that forks it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = 0
        self._pid = 0
        self._launcher = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def start(self, basex: int | None = None) -> DocumentUrl:
        """Starts it, and waits until it listens.

        Parameters
        ----------
        basex
            The port of the BaseX server that keeps the document; by default, a folder does.
        """
        launcher = self._launcher
        assert launcher.stdin is not None
        assert launcher.stdout is not None
        options = {"store": str(self._folder / "store"), "file": str(self._folder / "log.xml")}
        launcher.stdin.write(json.dumps({**options, "port": self._port, "basex": basex}) + "\n")
        launcher.stdin.flush()
        started = json.loads(launcher.stdout.readline())
        self._pid = started["pid"]
        self._port = int(started["url"].rpartition(":")[2])
        return parse_url(f"{started['url']}/log")

    def end(self, number: signal.Signals) -> None:
        """Ends it by a signal, unless it has ended by itself."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)
            while True:
                os.kill(self._pid, 0)
                time.sleep(0.001)

    def close(self) -> None:
        """Ends the server and the process that forks it."""
        self.end(signal.SIGTERM)
        self._launcher.communicate()


class Person(threading.Thread):
    """Adds notes and pushes them until it is stopped."""

    def __init__(self, folder: Path, url: DocumentUrl) -> None:
        super().__init__(name=folder.name)
        self._folder = folder
        self._url = url
        self.stopped = threading.Event()
        self.pushed = 0
        self.failed = 0
        self.problem: PenstockError | None = None
        with (
            self._connection() as connection,
            WorkingDirectory.create(
                folder, url, f"/{folder.name}", SyncSubscription("/*")
            ) as directory,
        ):
            synchronise(directory, connection, submit=False)
            self.file = directory.file

    def _connection(self) -> SyncConnection:
        return SyncConnection(self._url, pause=lambda seconds: time.sleep(min(seconds, 0.2)))

    def run(self) -> None:
        """Pushes a note after the other."""
        try:
            while not self.stopped.is_set():
                self._edit(self.pushed + 1)
                while not self._push():
                    self.failed += 1
                self.pushed += 1
        except PenstockError as problem:
            self.problem = problem

    def _edit(self, number: int) -> None:
        text = self.file.read_text(encoding="utf-8")
        text = text.replace("</log>", f"{self.note(number)}</log>")
        text = text.replace(self.note(number - NOTES_KEPT), "")
        self.file.write_text(text, encoding="utf-8")

    def _push(self) -> bool:
        try:
            self.synchronise(submit=True)
        except PenstockError as problem:
            if problem.code not in ("sync.unreachable", "sync.stopping"):
                raise
            return False
        return True

    def synchronise(self, *, submit: bool) -> None:
        """Pushes or pulls once."""
        with self._connection() as connection, WorkingDirectory.open(self._folder) as directory:
            synchronise(directory, connection, submit=submit)

    def note(self, number: int) -> str:
        """A note of this person."""
        return f"<note>{self.name} {number}</note>"

    def expected(self) -> list[str]:
        """The notes that must be in the document, each once."""
        first = max(1, self.pushed - NOTES_KEPT + 1)
        return [self.note(number) for number in range(first, self.pushed + 1)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a number of kills led to."""

    kills: int
    pushed: int
    failed: int


def kill_servers(kills: int, rng: random.Random, folder: Path) -> Outcome:
    """Kills a server that keeps its document in SQLite."""
    with contextlib.closing(_server(folder)) as server:
        people = _people(folder, server.start())
        for kill in range(kills):
            time.sleep(rng.uniform(0, SECONDS_MAX))
            server.end(signal.SIGKILL)
            server.start()
            if kill % 100 == 99:
                print(f"{kill + 1} kills", flush=True)
        return _checked(kills, people)


def kill_basex(kills: int, rng: random.Random, folder: Path) -> Outcome:
    """Kills a BaseX server that keeps the document, and the server of the document with it."""
    (folder / "basex").mkdir()
    basex = RunningBasex(folder / "basex")
    try:
        with contextlib.closing(_server(folder)) as server:
            people = _people(folder, server.start(basex.server.port))
            for kill in range(kills):
                time.sleep(rng.uniform(0, BASEX_SECONDS_MAX))
                basex.kill()
                server.end(signal.SIGKILL)
                basex.start()
                server.start(basex.server.port)
                print(f"{kill + 1} kills of BaseX", flush=True)
            return _checked(kills, people)
    finally:
        basex.kill()


def _server(folder: Path) -> ServerProcess:
    (folder / "log.xml").write_text("<log></log>", encoding="utf-8")
    return ServerProcess(folder)


def _people(folder: Path, url: DocumentUrl) -> list[Person]:
    people = [Person(folder / each, url) for each in ("ada", "bob")]
    for person in people:
        person.start()
    return people


def _checked(kills: int, people: list[Person]) -> Outcome:
    """Compares the files of both, when they have pushed everything, with the notes they made."""
    for person in people:
        person.stopped.set()
    for person in people:
        person.join()
        assert person.problem is None, person.problem
    for person in people:
        person.synchronise(submit=False)
    texts = [person.file.read_text(encoding="utf-8") for person in people]
    assert texts[0] == texts[1], "the files differ"
    expected = sorted(note for person in people for note in person.expected())
    found = sorted(re.findall("<note>[^<]*</note>", texts[0]))
    assert found == expected, "notes are lost or repeated"
    pushed, failed = (sum(getattr(each, what) for each in people) for what in ("pushed", "failed"))
    return Outcome(kills, pushed, failed)


def main() -> None:
    """Kill a synchronisation server, and the BaseX server behind one, the given number of times."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--basex-kills", type=int, default=0, help="Skipped without BaseX.")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--write", action="store_true", help="Write the result.")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    lines = ["make soak: synchronisation", str(this_machine()), ""]
    for what, kill, kills in (
        ("the server", kill_servers, given.kills),
        ("BaseX and the server", kill_basex, given.basex_kills),
    ):
        if not kills:
            continue
        if kill is kill_basex and BASEX_COMMAND is None:
            lines.append("BaseX is not installed")
            continue
        with tempfile.TemporaryDirectory(prefix="penstock-soak-") as name:
            done = kill(kills, rng, Path(name))
        lines += [
            f"{done.kills} kills of {what} with SIGKILL",
            f"{done.pushed} pushes of two people, each counted once;"
            f" {done.failed} failed and were repeated",
        ]
    text = "\n".join([*lines, f"seed: {given.seed}"]) + "\n"
    if given.write:
        RESULT.write_text(text, encoding="utf-8")
    print(text, flush=True)


if __name__ == "__main__":
    main()
