"""The time to transport a document over a link, for comparison with routing time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter

from penstock.documents import Document, Header
from penstock.links import (
    Link,
    LinkOptions,
    MessageReceived,
    TcpAddress,
    connect,
    document_to_message,
    run,
    serve,
)

_TOKEN = bytes(range(32))


def transport_seconds(contents: Sequence[bytes]) -> float:
    """Seconds per document over a TCP link on the loopback interface, both ends in this process."""
    messages = [
        document_to_message(Document(content, Header(publisher="lab", id=str(number))))
        for number, content in enumerate(contents)
    ]

    async def acknowledge_all(link: Link) -> None:
        while True:
            event = await link.receive()
            if isinstance(event, MessageReceived):
                link.acknowledge(event)

    async def transport() -> float:
        server = await serve(
            TcpAddress("127.0.0.1", 0),
            acknowledge_all,
            options=LinkOptions(name="server"),
            tokens={"client": _TOKEN},
        )
        async with server:
            link = await connect(
                server.address, peer="server", options=LinkOptions(name="client"), token=_TOKEN
            )
            try:
                await link.send(messages[0])
                await link.drain()
                begin = perf_counter()
                for message in messages:
                    await link.send(message)
                await link.drain()
                return perf_counter() - begin
            finally:
                await link.close()

    return run(asyncio.wait_for(transport(), timeout=60)) / len(messages)
