"""Dozens of peers as processes, at the cost of one interpreter's start.

As a program it imports Penstock once, and forks a source and its peers; each of them is a process
with sockets of its own, that can be killed like any other. The lines of standard input are the
documents of the source. Every process writes its reports to a file of JSON lines.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.fixtures.repository import ROOT

SECONDS_MAX = 120.0
"""How long anything is waited for; only a failure takes this long."""

SOURCE = "source"


class PeerSwarm:
    """A source and its peers, started together. Use it as a context manager."""

    def __init__(
        self,
        folder: Path,
        queries: list[str],
        *,
        fan_out: int,
        secured: bool = False,
        reorganise_seconds: float | None = None,
    ) -> None:
        self.folder = folder
        self.queries = {f"p{number}": query for number, query in enumerate(queries)}
        self._fan_out = fan_out
        self._secured = secured
        self._reorganise_seconds = reorganise_seconds
        self._program: subprocess.Popen[bytes] | None = None
        self.pids: dict[str, int] = {}
        self.published = 0

    def __enter__(self) -> PeerSwarm:
        settings = {
            "folder": str(self.folder),
            "queries": self.queries,
            "fan_out": self._fan_out,
            "token": "5a" * 16 if self._secured else "",
            "reorganise_seconds": self._reorganise_seconds,
        }
        self._program = subprocess.Popen(
            [sys.executable, "-m", "support.service.peer_swarm", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT / "tests",
            start_new_session=True,
        )
        assert self._program.stdout is not None
        self.pids = json.loads(self._program.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        assert self._program is not None
        for stream in (self._program.stdin, self._program.stdout):
            assert stream is not None
            stream.close()
        with contextlib.suppress(ProcessLookupError):
            # The group consists of the program and the peers that it has forked.
            os.killpg(self._program.pid, signal.SIGKILL)
        self._program.wait()

    def publish(self, documents: list[str]) -> None:
        """Has the source publish documents."""
        assert self._program is not None
        assert self._program.stdin is not None
        self._program.stdin.write("".join(f"{each}\n" for each in documents).encode())
        self._program.stdin.flush()
        self.published += len(documents)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Sends a signal to a process that is alive."""
        os.kill(self.pids[name], number)

    def reports(self, name: str) -> list[dict[str, Any]]:
        """What a process has reported so far."""
        path = self.folder / f"{name}.jsonl"
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines[:-1]]

    def deliveries(self, name: str) -> list[int]:
        """The sequence numbers that a peer has delivered, in order."""
        return [each["sequence"] for each in self.reports(name) if each["type"] == "Deliver"]

    def has_reported(self, name: str, kind: str) -> bool:
        """Whether a process has reported something of a kind."""
        return any(each["type"] == kind for each in self.reports(name))

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Waits until a condition holds."""
        end = time.monotonic() + SECONDS_MAX
        while not condition():
            if time.monotonic() > end:
                last = {name: self.reports(name)[-3:] for name in self.pids}
                raise AssertionError(f"{what} has not happened: {last}")
            time.sleep(0.05)

    def end(self) -> float:
        """Ends the source; the program ends with its last process. Returns its CPU seconds."""
        assert self._program is not None
        assert self._program.stdin is not None
        self._program.stdin.close()
        self.signal(SOURCE, signal.SIGTERM)
        assert self._program.stdout is not None
        return float(self._program.stdout.readline())


def _run_process(settings: dict[str, Any], name: str, seed: str) -> None:
    from penstock.links import TcpAddress, run
    from penstock.overlay import PatternModel, PeerOptions
    from penstock.service.addresses import parse_address
    from penstock.service.peer.options import PeerServiceOptions
    from penstock.service.peer.process import PeerTask, Report, run_peer
    from penstock.service.peer.publication import documents_of_lines

    token = bytes.fromhex(settings["token"])
    options = PeerServiceOptions(
        label=name,
        listen=TcpAddress("127.0.0.1", 0),
        insecure=not token,
        token=token or None,
        peer=PeerOptions(
            fan_out=settings["fan_out"],
            leave_seconds=10.0,
            reorganise_seconds=settings["reorganise_seconds"],
        ),
    )
    with Path(settings["folder"], f"{name}.jsonl").open("w", encoding="utf-8") as file:

        def write(report: Report) -> None:
            row: dict[str, Any] = {"type": type(report).__name__}
            for field in ("name", "sequence", "source", "parent", "first", "last"):
                row |= {field: getattr(report, field)} if hasattr(report, field) else {}
            file.write(json.dumps(row) + "\n")
            file.flush()

        async def main() -> None:
            if name == SOURCE:
                task = PeerTask(documents=documents_of_lines(sys.stdin.buffer))
            else:
                interest = PatternModel().interest(xpath=[settings["queries"][name]])
                task = PeerTask(join=[parse_address(seed)], interest=interest)
            await run_peer(options, task, write)

        run(main())


def _fork(settings: dict[str, Any], name: str, seed: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _run_process(settings, name, seed)
        code = 0
    finally:
        # Nothing of the parent's is to be flushed or joined.
        os._exit(code)


def _main() -> None:
    settings = json.loads(sys.argv[1])
    # Imported before the forks, so that it is paid once.
    import penstock.service.peer.process  # noqa: F401

    pids = {SOURCE: _fork(settings, SOURCE, "")}
    path = Path(settings["folder"], f"{SOURCE}.jsonl")
    while not path.exists() or "\n" not in path.read_text(encoding="utf-8"):
        time.sleep(0.02)
    seed = json.loads(path.read_text(encoding="utf-8").splitlines()[0])["name"].partition("@")[2]
    for name in settings["queries"]:
        pids[name] = _fork(settings, name, seed)
    print(json.dumps(pids), flush=True)
    for _ in pids:
        os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime + own.ru_utime + own.ru_stime, flush=True)


if __name__ == "__main__":
    _main()
