"""A router's process is killed with SIGKILL, again and again, and resumes its session."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from asyncio.subprocess import Process
from pathlib import Path

from penstock.links import (
    BackOff,
    Closed,
    Established,
    Link,
    LinkLimits,
    LinkOptions,
    Message,
    SessionReset,
    TcpAddress,
    connect,
    run,
)
from support.links import receiver_process
from support.links.receiver_process import TOKEN, read_lines

SECONDS_MAX = 120.0


async def start(path: Path, port: int = 0) -> tuple[Process, TcpAddress]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(receiver_process.__file__)),
        str(port),
        str(path),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = await process.stdout.readline()
    return process, TcpAddress("127.0.0.1", int(line))


async def kill(process: Process) -> None:
    process.kill()
    assert await process.wait() == -signal.SIGKILL


async def open_link(address: TcpAddress) -> Link:
    return await connect(
        address,
        peer="receiver",
        options=LinkOptions(
            name="sender",
            # Few messages are under way, so a kill always meets some that are not stored.
            limits=LinkLimits(window_messages=8),
            heartbeat_timeout_seconds=2.0,
            heartbeat_seconds=0.5,
        ),
        token=TOKEN,
        back_off=BackOff(random.Random(1), first_seconds=0.02, seconds_max=0.2),
    )


async def collect(link: Link, events: list[object]) -> None:
    while True:
        events.append(await link.receive())


def test_a_receiver_that_is_killed_stores_every_message_exactly_once(tmp_path: Path) -> None:
    path = tmp_path / "stored"
    rng = random.Random(3)
    bodies = [f"{number} " + "x" * rng.choice([0, 1_000, 100_000]) for number in range(120)]

    async def main() -> None:
        process, address = await start(path)
        link = await open_link(address)
        events: list[object] = []
        collecting = asyncio.create_task(collect(link, events))
        kill_at = {25, 50, 75, 100}
        for number, body in enumerate(bodies):
            await link.send(Message(body=body.encode()))
            if number in kill_at:
                await kill(process)
                process, _ = await start(path, address.port)
        await link.drain()
        # Nothing is in flight: the session survives a kill even then.
        await kill(process)
        process, _ = await start(path, address.port)
        await link.send(Message(body=b"last"))
        await link.drain()
        collecting.cancel()
        counters = link.counters()
        await link.close()
        await kill(process)
        assert counters.connections >= 6
        assert counters.resets == 0
        established = [event for event in events if isinstance(event, Established)]
        assert [event.resumed for event in established[1:]] == [True] * (len(established) - 1)
        assert any(isinstance(event, Closed) and event.error for event in events)

    run(asyncio.wait_for(main(), SECONDS_MAX))
    lines = read_lines(path)
    assert [content for _, _, content in lines] == [*bodies, "last"]
    assert [sequence for _, sequence, _ in lines] == list(range(1, len(bodies) + 2))
    assert len({session_id for session_id, _, _ in lines}) == 1


def test_a_receiver_that_loses_its_disk_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "stored"

    async def main() -> tuple[Message, ...]:
        process, address = await start(path)
        link = await open_link(address)
        await link.send(Message(body=b"1"))
        await link.drain()
        await kill(process)
        await link.send(Message(body=b"2"))
        path.unlink()
        process, _ = await start(path, address.port)
        while not isinstance(event := await link.receive(), SessionReset):
            pass
        # What the application does about it: all over again.
        for body in (b"1", b"2"):
            await link.send(Message(body=body))
        await link.drain()
        await link.close()
        await kill(process)
        return event.unacknowledged

    returned = run(asyncio.wait_for(main(), SECONDS_MAX))
    assert returned == (Message(body=b"2"),)
    assert [(number, content) for _, number, content in read_lines(path)] == [(1, "1"), (2, "2")]
