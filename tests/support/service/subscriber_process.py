"""A subscriber for tests that kill it: writes each delivery to a file before it acknowledges it.

Arguments: address, name, token as hexadecimal digits or ``-``, file. After a restart it goes on
behind the last complete line.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from penstock.links import run
from penstock.service.router import RouterClient, parse_address


class StoredLine(NamedTuple):
    """A line of the file."""

    store_id: str
    number: int
    subscription: str
    identity: str


def read_deliveries(path: Path) -> list[StoredLine]:
    """The complete lines; a kill can leave a part of one at the end."""
    if not path.exists():
        return []
    content = path.read_bytes()
    complete = content[: content.rfind(b"\n") + 1]
    return [StoredLine(*json.loads(line)) for line in complete.splitlines()]


async def main(address: str, name: str, token: str, path: Path) -> None:
    lines = read_deliveries(path)
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    last = lines[-1] if lines else StoredLine("", 0, "", "")
    client = RouterClient(
        parse_address(address),
        name=name,
        token=None if token == "-" else bytes.fromhex(token),
        store_id=last.store_id,
        after=last.number,
        heartbeat_seconds=1.0,
        heartbeat_timeout_seconds=5.0,
        reconnect_seconds_max=0.5,
    )
    with path.open("ab") as file:
        async with client:
            async for delivery in client.deliveries():
                line = StoredLine(
                    client.store_id, delivery.number, delivery.subscription, delivery.identity
                )
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
                client.acknowledge(delivery)


if __name__ == "__main__":
    run(main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])))
