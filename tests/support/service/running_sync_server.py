"""A synchronisation server on a free port of this machine, in a thread of the test."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Queue

from penstock.links import ServerTls, TcpAddress
from penstock.service.sync.process import ServeOptions, Serving, run_server
from penstock.service.sync.server_url import DocumentUrl, parse_url
from penstock.workspace.basex_session import BasexServer

SECONDS_MAX = 60.0


class RunningSyncServer:
    """A server that was started."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving

    def url(self, document: str = "catalogue") -> DocumentUrl:
        """The URL of a document."""
        return parse_url(f"{self.serving.url}/{document}")


@contextlib.contextmanager
def running_sync_server(
    folder: Path,
    documents: Mapping[str, Path] | None = None,
    *,
    insecure: bool = False,
    tls: ServerTls | None = None,
    basex: BasexServer | None = None,
    metrics: TcpAddress | None = None,
) -> Iterator[RunningSyncServer]:
    """Runs a server for the context; raises what it raises."""
    options = ServeOptions(
        folder=folder,
        listen=TcpAddress("127.0.0.1", 0),
        documents=documents or {},
        insecure=insecure,
        tls=tls,
        basex=basex,
        metrics=metrics,
    )
    started: Queue[tuple[Serving, asyncio.AbstractEventLoop, asyncio.Event] | BaseException]
    started = Queue()

    async def main() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        await run_server(options, lambda serving: started.put((serving, loop, stop)), stop)

    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as failure:
            failures.append(failure)
            started.put(failure)

    thread = threading.Thread(target=run, name="sync-server")
    thread.start()
    found = started.get(timeout=SECONDS_MAX)
    if isinstance(found, BaseException):
        thread.join(SECONDS_MAX)
        raise found
    serving, loop, stop = found
    try:
        yield RunningSyncServer(serving)
    finally:
        if thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(stop.set)
        thread.join(SECONDS_MAX)
    assert not thread.is_alive()
    if failures:
        raise failures[0]
