#!/usr/bin/env python3
"""Runs five routers, a publisher and three subscribers as processes, kills a router, and shows that
nothing is lost.

::

            north                  publisher "wire" at north,
           /     \\                 subscribers at south, west and east
       centre    east
       /    \\
    west    south

While 40 documents are published, the router in the centre is killed with SIGKILL. What is published
meanwhile waits at its neighbours. It starts again with its state, and every subscriber gets every
document that matches, once and in order.

Usage: run.py FOLDER; replaces the folder of an earlier run.
"""

from __future__ import annotations

import json
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PENSTOCK = [sys.executable, "-m", "penstock"]
CONNECTS = {"centre": "north", "east": "north", "west": "centre", "south": "centre"}
"""Each router but the first connects to another."""
SUBSCRIBERS = {
    "ada": ("south", "/alert"),
    "bob": ("west", "/alert[severity = 'severe']"),
    "eve": ("east", "//area[. = 'coast']"),
}
DOCUMENTS = 40
START_SECONDS_MAX = 120.0


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


class Router:
    """A router process; its port stays the same when it is started again."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.workspace = folder / name
        self.token_file = folder / f"{name}.tokens"
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self, neighbours: dict[str, str]) -> None:
        """Starts the process, and waits until it listens."""
        if not self.workspace.exists():
            subprocess.run(
                [*PENSTOCK, "init", str(self.workspace)], check=True, capture_output=True
            )
        connects = [f"--connect={name}={address}" for name, address in neighbours.items()]
        self.process = subprocess.Popen(
            [
                *PENSTOCK,
                "router",
                "--json",
                f"--workspace={self.workspace}",
                f"--listen=127.0.0.1:{self.port}",
                f"--token-file={self.token_file}",
                *connects,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the router {self.name} has not started")
        address = json.loads(line)["address"]
        self.port = int(address.rpartition(":")[2])
        say(f"router {self.name} listens on {address}")

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def end(self, number: signal.Signals) -> int:
        """Sends a signal, and returns the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None
        return code

    def status(self) -> dict[str, object]:
        """What `penstock router status` says."""
        done = subprocess.run(
            [*PENSTOCK, "router", "status", f"--workspace={self.workspace}", "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, object] = json.loads(done.stdout)
        return found


def write_tokens(folder: Path, names: list[str]) -> None:
    """A token for every pair that is connected; each side has it under the other's name."""
    lines: dict[str, list[str]] = {name: [] for name in [*names, *SUBSCRIBERS, "wire"]}
    pairs = [(one, two, "router") for one, two in CONNECTS.items()]
    pairs += [(name, router, "client") for name, (router, _) in SUBSCRIBERS.items()]
    pairs.append(("wire", "north", "client"))
    for one, two, role in pairs:
        token = secrets.token_hex(32)
        lines[two].append(f"{one} {role} {token}\n")
        lines[one].append(f"{two} router {token}\n")
    for name, each in lines.items():
        path = folder / f"{name}.tokens"
        path.touch(mode=0o600)
        path.write_text("".join(each), encoding="utf-8")


def write_documents(folder: Path) -> list[Path]:
    """The documents that are published, and their number in the order of publishing."""
    folder.mkdir()
    paths = []
    for number in range(1, DOCUMENTS + 1):
        severity = "severe" if number % 4 == 0 else "minor"
        area = "coast" if number % 3 == 0 else "hills"
        path = folder / f"{number:03}.xml"
        path.write_text(
            f'<alert n="{number}"><severity>{severity}</severity><area>{area}</area></alert>\n',
            encoding="utf-8",
        )
        paths.append(path)
    return paths


def expected_of(subscriber: str) -> list[int]:
    """The numbers of the documents that a subscriber has asked for."""
    numbers = range(1, DOCUMENTS + 1)
    wanted = {"ada": 1, "bob": 4, "eve": 3}[subscriber]
    return [number for number in numbers if number % wanted == 0]


def client(name: str, router: Router, folder: Path, *arguments: str) -> list[str]:
    """The command line of a client; the command is the first argument."""
    command, *rest = arguments
    tokens = f"--token-file={folder / name}.tokens"
    return [
        *PENSTOCK,
        "router",
        command,
        f"--connect={router.address}",
        f"--name={name}",
        tokens,
        *rest,
    ]


def wait_for_interests(routers: dict[str, Router]) -> None:
    """Waits until every router knows what its neighbours are interested in."""
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        known = 0
        for router in routers.values():
            neighbours = router.status()["neighbours"]
            assert isinstance(neighbours, dict)
            known += sum(each["status"] == "in step" for each in neighbours.values())
        if known == 2 * len(CONNECTS):
            # The last changes of subscriptions may be on their way.
            time.sleep(1.0)
            return
    raise SystemExit("the routers have not connected")


def main(folder: Path) -> int:
    """Runs the example; returns the exit code."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    names = ["north", "centre", "east", "west", "south"]
    write_tokens(folder, names)
    documents = write_documents(folder / "documents")
    routers = {name: Router(name, folder) for name in names}

    def start(name: str) -> None:
        other = CONNECTS.get(name)
        routers[name].start({} if other is None else {other: routers[other].address})

    subscribers: dict[str, subprocess.Popen[str]] = {}
    try:
        for name in names:
            start(name)
        for name, (router, query) in SUBSCRIBERS.items():
            subprocess.run(client(name, routers[router], folder, "subscribe", query), check=True)
            count = f"--count={len(expected_of(name))}"
            command = client(name, routers[router], folder, "subscribe", count, "--json")
            subscribers[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        wait_for_interests(routers)

        say("\nthe first half is published")
        publish(folder, routers["north"], documents[: DOCUMENTS // 2])
        code = routers["centre"].end(signal.SIGKILL)
        say(
            f"\nthe router in the centre is killed (exit code {code}); the second half is published"
        )
        publish(folder, routers["north"], documents[DOCUMENTS // 2 :])
        say("\nthe router in the centre starts again")
        start("centre")

        is_complete = True
        say("")
        for name, process in subscribers.items():
            got = received(process)
            is_right = got == expected_of(name)
            is_complete &= is_right
            router, query = SUBSCRIBERS[name]
            verdict = "all, once, in order" if is_right else f"WRONG: {got}"
            say(f"{name} at {router}, {query}: {len(got)} documents: {verdict}")
        for name in names:
            routers[name].end(signal.SIGTERM)
        say("nothing was lost" if is_complete else "DELIVERIES ARE WRONG")
        return 0 if is_complete else 1
    finally:
        for process in subscribers.values():
            process.kill()
            process.wait()
        for each in routers.values():
            if each.process is not None:
                each.end(signal.SIGKILL)


def publish(folder: Path, router: Router, documents: list[Path]) -> None:
    """Publishes documents, and waits until the router has stored them."""
    command = client("wire", router, folder, "publish", *map(str, documents))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def received(process: subprocess.Popen[str]) -> list[int]:
    """The numbers of the documents that a subscriber process has printed."""
    output, _ = process.communicate(timeout=START_SECONDS_MAX)
    rows = [json.loads(line) for line in output.splitlines()]
    contents = [row["content"] for row in rows if row["type"] == "delivery"]
    return [int(content.split('"')[1]) for content in contents]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: run.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))
