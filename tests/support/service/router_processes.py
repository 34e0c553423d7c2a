"""Routers as processes of ``penstock router``, which tests start, kill and start again."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import sys
from asyncio.subprocess import Process
from dataclasses import dataclass, field
from pathlib import Path

from penstock.links import TcpAddress
from penstock.workspace import Workspace
from support.service import subscriber_process
from support.service.subscriber_process import StoredLine, read_deliveries

START_SECONDS_MAX = 120.0


@dataclass
class RouterProcess:
    """A router with its own workspace; its port stays the same."""

    name: str
    folder: Path
    neighbours: dict[str, TcpAddress] = field(default_factory=dict)
    """Whom it connects to."""
    token_file: Path | None = None
    """Without it, the router is insecure."""
    port: int = 0
    process: Process | None = None

    @property
    def address(self) -> TcpAddress:
        assert self.port, "the router was started"
        return TcpAddress("127.0.0.1", self.port)

    @property
    def is_running(self) -> bool:
        return self.process is not None

    async def start(self) -> None:
        """Starts the process, and waits until it listens."""
        assert self.process is None
        if not self.folder.exists():
            Workspace.create(self.folder).close()
        secured = ["--insecure"]
        if self.token_file is not None:
            secured = ["--token-file", str(self.token_file)]
        with (self.folder / "router.stderr").open("ab") as errors:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "penstock", "--log-file", str(self.folder / "router.log")),
                *("router", "--json", "--name", self.name, "--workspace", str(self.folder)),
                *("--listen", f"127.0.0.1:{self.port}", *secured),
                *(f"--connect={name}={address}" for name, address in self.neighbours.items()),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdout is not None
        async with asyncio.timeout(START_SECONDS_MAX):
            line = await self.process.stdout.readline()
        assert line, (self.folder / "router.stderr").read_text()
        self.port = int(json.loads(line)["address"].rpartition(":")[2])

    async def kill(self) -> None:
        """Kills the process with SIGKILL."""
        await self._end(signal.SIGKILL, -signal.SIGKILL)

    async def stop(self) -> None:
        """Ends the process with SIGTERM; it has to exit with 0."""
        await self._end(signal.SIGTERM, 0)

    async def _end(self, number: signal.Signals, code: int) -> None:
        assert self.process is not None
        process, self.process = self.process, None
        process.send_signal(number)
        assert await process.wait() == code, (self.folder / "router.stderr").read_text()


@dataclass
class SubscriberProcess:
    """A subscriber that writes its deliveries to a file."""

    name: str
    address: TcpAddress
    path: Path
    token: bytes | None = None
    process: Process | None = None

    async def start(self) -> None:
        assert self.process is None
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(subscriber_process.__file__)),
            str(self.address),
            self.name,
            "-" if self.token is None else self.token.hex(),
            str(self.path),
        )

    async def kill(self) -> None:
        if self.process is not None:
            process, self.process = self.process, None
            process.kill()
            await process.wait()

    def deliveries(self) -> list[StoredLine]:
        """What it has stored."""
        return read_deliveries(self.path)


class Tokens:
    """A token for each pair of names, and the token files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokens: dict[frozenset[str], bytes] = {}
        self._roles: dict[str, str] = {}

    def add(self, one: str, two: str, *, role_of_two: str) -> bytes:
        """A new token of a pair; the first is a router."""
        token = self._tokens[frozenset((one, two))] = secrets.token_bytes(32)
        self._roles |= {one: "router", two: role_of_two}
        return token

    def write(self, name: str) -> Path:
        """The token file of a name."""
        path = self._folder / f"{name}.tokens"
        lines = []
        for pair, token in self._tokens.items():
            if name in pair:
                [other] = pair - {name}
                lines.append(f"{other} {self._roles[other]} {token.hex()}\n")
        path.write_text("".join(lines))
        return path
