"""Runs a server of documents until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import uvicorn

from penstock.errors import error
from penstock.links import ServerTls, TcpAddress
from penstock.service.addresses import is_loopback
from penstock.service.metrics import MetricsServer
from penstock.service.sync.application import SyncApplication
from penstock.service.sync.document_engine import DocumentEngine
from penstock.service.sync.document_service import DocumentService
from penstock.service.sync.document_stores import BasexStores, DocumentStores, SqliteStores
from penstock.service.sync.http_protocol import TimedHttpProtocol
from penstock.service.sync.limits import SYNC_CONNECTIONS_MAX, SYNC_DOCUMENTS_MAX
from penstock.service.sync.metrics import metrics_text
from penstock.service.sync.server_url import DOCUMENT_NAME
from penstock.service.sync.tokens import TokenVerifier, read_accounts
from penstock.workspace.basex_session import BasexServer
from penstock.workspace.file_locks import file_lock
from penstock.workspace.private_files import make_private_folder

LOCK: Final = "lock"
STOP_SECONDS_MAX: Final = 10
"""Time that open connections have to end when the server stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Options of a server."""

    folder: Path
    listen: TcpAddress
    documents: Mapping[str, Path] = field(default_factory=dict)
    """Files of documents by name; one whose name is in the folder already is not read."""
    insecure: bool = False
    """Whether clients without a token are accepted; only on addresses of this machine."""
    plaintext: bool = False
    """Whether addresses that other machines reach are served without TLS."""
    tls: ServerTls | None = None
    metrics: TcpAddress | None = None
    """Where to serve metrics over HTTP, without tokens, if anywhere."""
    basex: BasexServer | None = None
    """Keeps the documents; by default, the folder does."""

    def __post_init__(self) -> None:
        for name in self.documents:
            if DOCUMENT_NAME.fullmatch(name) is None:
                raise error("sync.document", f"`{name}` is no name of a document")
        if self.basex is not None and not self.plaintext:
            address = TcpAddress(self.basex.host, self.basex.port)
            if not is_loopback(address):
                raise error("sync.insecure", f"documents would be sent to {address} without TLS")
        if is_loopback(self.listen):
            return
        if self.insecure:
            raise error("sync.insecure", f"{self.listen} is not an address of this machine only")
        if self.tls is None and not self.plaintext:
            raise error("sync.insecure", f"tokens would be sent to {self.listen} without TLS")


@dataclass(frozen=True, slots=True)
class Serving:
    """Where a server can be reached, and what it serves."""

    url: str
    documents: Mapping[str, int]
    """Versions of the documents."""
    restored: frozenset[str]
    """Documents that were stored already."""
    metrics: TcpAddress | None = None


class _Server(uvicorn.Server):
    """A server whose signals the process handles."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals alone."""
        yield


async def run_server(
    options: ServeOptions,
    on_serving: Callable[[Serving], None],
    stop: asyncio.Event | None = None,
) -> None:
    """Serves documents until an event, or by default until SIGTERM or SIGINT.

    Raises
    ------
    WorkspaceError
        ``workspace.running``: another server uses the folder; ``workspace.full``: changes cannot be
        stored; ``workspace.damaged``: a document cannot be restored.
    SyncError
        ``sync.insecure``: there are no tokens; ``sync.document``: there is nothing to serve;
        ``sync.basex``: BaseX does not answer.
    """
    loop = asyncio.get_running_loop()
    if stop is None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
    make_private_folder(options.folder)
    with file_lock(options.folder / LOCK, wait=False):
        if not options.insecure and not read_accounts(options.folder):
            raise error("sync.insecure", f"{options.folder} has no tokens")
        basex = options.basex
        stores = SqliteStores(options.folder) if basex is None else BasexStores(basex)
        restored = frozenset(await loop.run_in_executor(None, stores.names))
        with contextlib.ExitStack() as stack:
            services: dict[str, DocumentService] = {}
            for name in _names(options, restored):
                engine = await loop.run_in_executor(
                    None, _open, name, stores, options.documents.get(name)
                )
                services[name] = service = DocumentService(engine)
                stack.callback(service.shut_down)
            await _serve(options, services, restored, on_serving, stop)


def _names(options: ServeOptions, restored: Collection[str]) -> list[str]:
    """The documents to serve, in order."""
    names = {*restored, *options.documents}
    if not names:
        raise error("sync.document", "there is no document to serve")
    if len(names) > SYNC_DOCUMENTS_MAX:
        raise error("sync.document", f"there are more than {SYNC_DOCUMENTS_MAX:,} documents")
    return sorted(names)


def _open(name: str, stores: DocumentStores, source: Path | None) -> DocumentEngine:
    document = None if source is None else source.read_bytes()
    return DocumentEngine.open(name, stores, document)


async def _serve(
    options: ServeOptions,
    services: Mapping[str, DocumentService],
    restored: frozenset[str],
    on_serving: Callable[[Serving], None],
    stop: asyncio.Event,
) -> None:
    tls = None if options.tls is None else _tls_context(options.tls)
    listening = _listen(options.listen)
    host, port = listening.getsockname()[:2]
    tokens = None if options.insecure else TokenVerifier(options.folder)
    server = _Server(
        uvicorn.Config(
            SyncApplication(services, tokens).asgi(),
            http=TimedHttpProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=SYNC_CONNECTIONS_MAX,
            timeout_graceful_shutdown=STOP_SECONDS_MAX,
            ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        )
    )
    try:
        metrics = await _serve_metrics(services, options.metrics)
    except BaseException:
        listening.close()
        raise
    rounds = [asyncio.create_task(service.run()) for service in services.values()]
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    try:
        scheme = "http" if tls is None else "https"
        shown = f"[{host}]" if ":" in host else host
        versions = {name: service.version for name, service in services.items()}
        place = None if metrics is None else metrics.address
        on_serving(Serving(f"{scheme}://{shown}:{port}", versions, restored, place))
        await asyncio.wait({stopping, serving, *rounds}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if metrics is not None:
            await metrics.close()
        for service in services.values():
            service.close()
        server.should_exit = True
        await serving
        results = await asyncio.gather(*rounds, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def _serve_metrics(
    services: Mapping[str, DocumentService], address: TcpAddress | None
) -> MetricsServer | None:
    if address is None:
        return None

    async def text() -> str:
        return metrics_text(services)

    server = MetricsServer(text)
    try:
        await server.start(address)
    except OSError as problem:
        raise error("sync.listen", f"cannot listen on {address}: {problem.strerror}") from None
    return server


def _tls_context(tls: ServerTls) -> ssl.SSLContext:
    try:
        return tls.context()
    except (ssl.SSLError, ValueError) as problem:
        raise error("sync.tls", f"{tls.certificate}, {tls.key}: {problem}") from None


def _listen(address: TcpAddress) -> socket.socket:
    found = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    family, kind, protocol, _, place = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
        listening.setblocking(False)
    except OSError as problem:
        listening.close()
        raise error("sync.listen", f"cannot listen on {address}: {problem.strerror}") from None
    return listening
