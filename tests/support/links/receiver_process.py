"""A router's process for the tests that kill it: stores each message with its session's numbers.

Arguments: port (0 for a free one, which is printed) and file. A line of the file is one message:
session id, sequence number and content, written before it is acknowledged. After a restart the
session goes on behind the last complete line.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from penstock.links import (
    Link,
    LinkOptions,
    MessageReceived,
    SessionState,
    TcpAddress,
    run,
    serve,
)

TOKEN = b"a token of the tests, 32 bytes.."


def read_lines(path: Path) -> list[tuple[str, int, str]]:
    """The complete lines; a kill can leave a part of one at the end."""
    if not path.exists():
        return []
    content = path.read_bytes()
    complete = content[: content.rfind(b"\n") + 1]
    return [tuple(json.loads(line)) for line in complete.splitlines()]


def stored_state(path: Path) -> dict[str, SessionState]:
    lines = read_lines(path)
    if not lines:
        return {}
    session_id, sequence, _ = lines[-1]
    return {"sender": SessionState(session_id=bytes.fromhex(session_id), stored=sequence)}


async def main(port: int, path: Path) -> None:
    states = stored_state(path)
    # A part of a line that a kill left would damage the next one.
    complete = b"".join(json.dumps(line).encode() + b"\n" for line in read_lines(path))
    path.write_bytes(complete)
    file = path.open("ab")

    async def store(link: Link) -> None:
        while True:
            event = await link.receive()
            if not isinstance(event, MessageReceived):
                continue
            line = [event.session_id.hex(), event.sequence, event.message.body.decode()]
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            link.acknowledge(event)

    options = LinkOptions(name="receiver", heartbeat_timeout_seconds=2.0, heartbeat_seconds=0.5)
    server = await serve(
        TcpAddress("127.0.0.1", port),
        store,
        options=options,
        tokens={"sender": TOKEN},
        states=states,
    )
    async with server:
        assert isinstance(server.address, TcpAddress)
        print(server.address.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    run(main(int(sys.argv[1]), Path(sys.argv[2])))
