"""Kills a synchronisation server at random points while two people push: ``make soak``.

The server is a process of its own; each person has a working directory, adds a note to the file
again and again, and pushes it. In the end every note is in the document once, and both files are
equal.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from penstock.errors import PenstockError
from penstock.lab.bench.machine_description import this_machine
from penstock.service.sync import SyncConnection, WorkingDirectory, parse_url, synchronise
from penstock.service.sync.server_url import DocumentUrl
from penstock.sync import SyncSubscription

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "soak-sync.txt"
NOTES_KEPT = 200
"""Notes of a person in the document; older ones are removed by their author."""
SECONDS_MAX = 1.0
"""Longest time between the start of a server and its end."""


class ServerProcess:
    """A server whose port stays the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> DocumentUrl:
        """Starts it, and waits until it listens."""
        command = [sys.executable, "-m", "penstock", "sync", "serve", str(self._folder / "log.xml")]
        command += [f"--store={self._folder / 'store'}", f"--listen=127.0.0.1:{self._port}"]
        self._process = subprocess.Popen(
            [*command, "--insecure", "--json"], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        url = json.loads(self._process.stdout.readline())["url"]
        self._port = int(url.rpartition(":")[2])
        return parse_url(f"{url}/log")

    def end(self, number: signal.Signals) -> None:
        """Ends it by a signal."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.communicate()


class Person(threading.Thread):
    """Adds notes and pushes them until it is stopped."""

    def __init__(self, folder: Path, url: DocumentUrl) -> None:
        super().__init__(name=folder.name)
        self._folder = folder
        self._url = url
        self.stopped = threading.Event()
        self.pushed = 0
        self.failed = 0
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
        while not self.stopped.is_set():
            self._edit(self.pushed + 1)
            while not self._push():
                self.failed += 1
            self.pushed += 1

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


def main() -> None:
    """Kill a synchronisation server the given number of times."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--write", action="store_true", help="Write the result.")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="penstock-soak-") as name:
        folder = Path(name)
        (folder / "log.xml").write_text("<log></log>", encoding="utf-8")
        server = ServerProcess(folder)
        url = server.start()
        people = [Person(folder / each, url) for each in ("ada", "bob")]
        for person in people:
            person.start()
        for kill in range(given.kills):
            time.sleep(rng.uniform(0, SECONDS_MAX))
            server.end(signal.SIGKILL)
            server.start()
            if kill % 100 == 99:
                print(f"{kill + 1} kills", flush=True)
        for person in people:
            person.stopped.set()
        for person in people:
            person.join()
        for person in people:
            person.synchronise(submit=False)
        texts = [person.file.read_text(encoding="utf-8") for person in people]
        server.end(signal.SIGTERM)
    assert texts[0] == texts[1], "the files differ"
    expected = sorted(note for person in people for note in person.expected())
    found = sorted(re.findall("<note>[^<]*</note>", texts[0]))
    assert found == expected, "notes are lost or repeated"
    pushed, failed = (sum(getattr(each, what) for each in people) for what in ("pushed", "failed"))
    lines = [
        "make soak: synchronisation",
        str(this_machine()),
        "",
        f"{given.kills} kills of the server with SIGKILL",
        f"{pushed} pushes of two people, each counted once; {failed} failed and were repeated",
        f"seed: {given.seed}",
    ]
    text = "\n".join(lines) + "\n"
    if given.write:
        RESULT.write_text(text, encoding="utf-8")
    print(text, flush=True)


if __name__ == "__main__":
    main()
