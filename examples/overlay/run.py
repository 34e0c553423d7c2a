#!/usr/bin/env python3
"""Runs a source and twenty peers as processes, kills seven of them, and draws the tree before and
after.

Nobody is in charge: the source publishes, and the peers pass documents on. Seven of them are killed
with SIGKILL, the first that joined among them, which are close to the source. The others find new
parents and request what they missed, so that every survivor gets every document that matches its
query, once and in order.

Usage: run.py FOLDER [--peers N] [--kills N]; replaces the folder of an earlier run. Writes
``before.svg`` and ``healed.svg``, coloured by overhead, and the deliveries of each peer.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PENSTOCK = [sys.executable, "-m", "penstock"]
QUERIES = ("/alert", "/alert[severity = 'severe']", "//area[. = 'coast']", "/alert[@n > 20]")
"""The queries of the peers, in turn."""
DOCUMENTS = 40
WAIT_SECONDS_MAX = 300.0


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def document(number: int) -> str:
    """A document on one line."""
    severity = "severe" if number % 4 == 0 else "minor"
    area = "coast" if number % 3 == 0 else "hills"
    return f'<alert n="{number}"><severity>{severity}</severity><area>{area}</area></alert>'


def matches(query: str, number: int) -> bool:
    """Whether a document matches one of the queries."""
    wanted = (True, number % 4 == 0, number % 3 == 0, number > 20)
    return wanted[QUERIES.index(query)]


class Peer:
    """A process of `penstock peer`, which writes its reports to a file."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self.name = name
        self._path = folder / f"{name}.jsonl"
        with self._path.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *PENSTOCK,
                    "peer",
                    "--json",
                    f"--name={name}",
                    f"--token-file={folder / 'group.token'}",
                    *arguments,
                ],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.DEVNULL,
            )

    def reports(self, kind: str) -> list[dict[str, object]]:
        """What the process has reported of a kind so far."""
        lines = self._path.read_text(encoding="utf-8").split("\n")[:-1]
        return [row for row in map(json.loads, lines) if row["type"] == kind]

    def received(self) -> list[int]:
        """The numbers of the documents that were delivered."""
        return [int(str(row["content"]).split('"')[1]) for row in self.reports("delivery")]


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"timed out: {what}")
        time.sleep(0.1)


def draw(address: str, folder: Path, name: str, title: str) -> None:
    """Draws the tree as it is."""
    token = f"--token-file={folder / 'group.token'}"
    command = [*PENSTOCK, "overlay", "draw", f"--connect={address}", token, f"--title={title}"]
    subprocess.run([*command, f"--output={folder / name}"], check=True, stderr=subprocess.DEVNULL)
    say(f"{name}: {title}")


def publish(source: Peer, first: int, last: int) -> None:
    """Publishes documents, each on a line of the source's standard input."""
    assert source.process.stdin is not None
    for number in range(first, last + 1):
        source.process.stdin.write(f"{document(number)}\n".encode())
    source.process.stdin.flush()
    wait_for("publishing", lambda: len(source.reports("published")) == last)


def main(folder: Path, count: int, kills: int) -> int:
    """Runs the example; returns the exit code."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    token = folder / "group.token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32), encoding="utf-8")
    source = Peer("source", folder, "--source", "--lines", "--fan-out=3")
    peers: list[Peer] = []
    try:
        wait_for("the source", lambda: bool(source.reports("listening")))
        address = str(source.reports("listening")[0]["address"])
        say(f"the source listens on {address}")
        for number in range(count):
            query = QUERIES[number % len(QUERIES)]
            peers.append(
                Peer(
                    f"p{number}",
                    folder,
                    f"--join={address}",
                    f"--subscribe={query}",
                    "--fan-out=3",
                )
            )
        wait_for("joining", lambda: all(peer.reports("connected") for peer in peers))
        publish(source, 1, DOCUMENTS // 2)
        draw(address, folder, "before.svg", f"a source and {count} peers")

        # Those closest to the source first: the children of the source, then theirs.
        levels = {str(source.reports("listening")[0]["peer"]): 0}
        while len(levels) <= count:
            for peer in peers:
                parent = str(peer.reports("connected")[-1]["parent"])
                if parent in levels:
                    levels.setdefault(str(peer.reports("listening")[0]["peer"]), levels[parent] + 1)
        killed = sorted(peers, key=lambda peer: levels[str(peer.reports("listening")[0]["peer"])])[
            :kills
        ]
        for peer in killed:
            peer.process.send_signal(signal.SIGKILL)
            peer.process.wait()
        say(f"killed: {', '.join(peer.name for peer in killed)}")
        publish(source, DOCUMENTS // 2 + 1, DOCUMENTS)
        survivors = [peer for peer in peers if peer not in killed]
        expected = {
            peer.name: [
                number
                for number in range(1, DOCUMENTS + 1)
                if matches(QUERIES[peers.index(peer) % len(QUERIES)], number)
            ]
            for peer in survivors
        }
        wait_for(
            "the documents",
            lambda: all(len(peer.received()) >= len(expected[peer.name]) for peer in survivors),
        )
        draw(address, folder, "healed.svg", f"healed, with {len(survivors)} peers")
        wrong = [peer.name for peer in survivors if peer.received() != expected[peer.name]]
        moved = sum(bool(peer.reports("disconnected")) for peer in survivors)
        say(f"{moved} peers have lost their parent and found another")
        for peer in [*survivors, source]:
            peer.process.send_signal(signal.SIGTERM)
        codes = [peer.process.wait() for peer in [*survivors, source]]
        if wrong or any(codes):
            say(f"DELIVERIES ARE WRONG: {wrong}, exit codes {codes}")
            return 1
        say(f"all {len(survivors)} survivors have all their documents, once and in order")
        return 0
    finally:
        for peer in [*peers, source]:
            peer.process.kill()
            peer.process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", type=int, default=20)
    parser.add_argument("--kills", type=int, default=7)
    arguments = parser.parse_args()
    sys.exit(main(arguments.folder, arguments.peers, arguments.kills))
