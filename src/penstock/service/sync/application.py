"""The HTTP interface of a server, as an ASGI application.

========  ================================  =======================================================
method    path                              answer
========  ================================  =======================================================
GET       ``/documents``                    the documents, as JSON
GET       ``/documents/NAME``               the document's version and the account, as JSON
POST      ``/documents/NAME/requests``      an encoded request; the answer is encoded messages
GET       ``/documents/NAME/messages``      server-sent events: messages to the client ``?client=``
GET       ``/documents/NAME/clients``       the account's clones, as JSON
DELETE    ``/documents/NAME/clients``       removes the clone ``?client=``
========  ================================  =======================================================

An error is a JSON object with its code, message and hint.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.errors import PenstockError, error
from penstock.service.sync.document_service import DocumentService
from penstock.service.sync.limits import (
    SYNC_BODIES_MAX,
    SYNC_HEARTBEAT_SECONDS,
    SYNC_REQUEST_BYTES_MAX,
    SYNC_REQUEST_SECONDS_MAX,
)
from penstock.service.sync.tokens import TokenVerifier
from penstock.sync.limits import CLIENT_NAME_CHARACTERS_MAX
from penstock.sync.message_codec import FORMAT_VERSION, encode_messages
from penstock.sync.messages import CloneRequest, SyncRequest

CONTENT_TYPE: Final = "application/vnd.penstock.sync"

_STATUS: Final = {
    "sync.token": 401,
    "sync.client-name": 403,
    "sync.document": 404,
    "sync.client-unknown": 404,
    "sync.request-slow": 408,
    "sync.request-bytes": 413,
    "sync.streams": 503,
    "sync.stopping": 503,
}
"""HTTP status by code; 400 for all others."""

_Handler = Callable[[Request], Awaitable[Response]]


class SyncApplication:
    """Answers HTTP requests about documents.

    Parameters
    ----------
    services
        The documents by name.
    tokens
        Verifies tokens; ``None`` if every client is accepted.
    """

    def __init__(
        self, services: Mapping[str, DocumentService], tokens: TokenVerifier | None
    ) -> None:
        self._services = services
        self._tokens = tokens
        self._bodies = asyncio.Semaphore(SYNC_BODIES_MAX)

    def asgi(self) -> Starlette:
        """The ASGI application."""
        routes = (
            ("/documents", self._list, "GET"),
            ("/documents/{name}", self._describe, "GET"),
            ("/documents/{name}/requests", self._receive, "POST"),
            ("/documents/{name}/messages", self._stream, "GET"),
            ("/documents/{name}/clients", self._clones, "GET"),
            ("/documents/{name}/clients", self._forget, "DELETE"),
        )
        return Starlette(
            routes=[
                Route(path, _reporting_errors(handler), methods=[method])
                for path, handler, method in routes
            ],
            exception_handlers={HTTPException: _http_exception},
        )

    def _account(self, request: Request) -> str:
        """The account of a request; empty if tokens are not required."""
        if self._tokens is None:
            return ""
        try:
            account = self._tokens.account_of(request.headers.get("authorization"))
        except PenstockError:
            account = None  # the token file is damaged; its path does not concern clients
        if account is None:
            raise error("sync.token", "the token is missing, wrong or revoked")
        return account

    def _service(self, request: Request, account: str) -> DocumentService:
        """The document of a request; one that the account may not use seems not to exist."""
        name = request.path_params["name"]
        service = self._services.get(name)
        if service is None or not self._may_use(account, name):
            raise error("sync.document", f"the server has no document `{name[:100]}`")
        return service

    def _may_use(self, account: str, document: str) -> bool:
        return self._tokens is None or self._tokens.may_use(account, document)

    async def _list(self, request: Request) -> Response:
        account = self._account(request)
        names = [name for name in sorted(self._services) if self._may_use(account, name)]
        return JSONResponse({"documents": names})

    async def _describe(self, request: Request) -> Response:
        account = self._account(request)
        service = self._service(request, account)
        return JSONResponse(
            {
                "document": service.name,
                "version": service.version,
                "account": account,
                "format": FORMAT_VERSION,
            }
        )

    async def _receive(self, request: Request) -> Response:
        account = self._account(request)
        service = self._service(request, account)
        async with self._bodies:
            decoded: CloneRequest | SyncRequest = await service.decode(await _body(request))
        _check_client(decoded.client, account)
        messages = await service.answer(decoded)
        return Response(await service.encode(messages), media_type=CONTENT_TYPE)

    async def _clones(self, request: Request) -> Response:
        account = self._account(request)
        service = self._service(request, account)
        found = await service.clones(f"{account}/" if account else "")
        return JSONResponse(
            {"version": service.version, "clients": [asdict(each) for each in found]}
        )

    async def _forget(self, request: Request) -> Response:
        account = self._account(request)
        service = self._service(request, account)
        client = request.query_params.get("client", "")
        _check_client(client, account)
        await service.forget(client)
        return JSONResponse({"forgotten": client})

    async def _stream(self, request: Request) -> Response:
        account = self._account(request)
        service = self._service(request, account)
        client = request.query_params.get("client", "")
        _check_client(client, account)
        service.require_stream(client)
        return StreamingResponse(
            self._events(request, service, client),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    async def _events(
        self, request: Request, service: DocumentService, client: str
    ) -> AsyncIterator[bytes]:
        # Opened here: a response that is never iterated over would not close it.
        stream = service.open_stream(client)
        try:
            yield b"event: open\ndata:\n\n"
            while True:
                try:
                    async with asyncio.timeout(SYNC_HEARTBEAT_SECONDS):
                        message = await stream.next()
                except TimeoutError:
                    self._service(request, self._account(request))
                    yield b": heartbeat\n\n"
                    continue
                if message is None:
                    return
                data = base64.b64encode(encode_messages((message,)))
                yield b"event: message\ndata: " + data + b"\n\n"
        except PenstockError:
            return  # the token is revoked, or limited to other documents
        finally:
            service.close_stream(stream)


def _check_client(client: str, account: str) -> None:
    """Clients of an account begin with its name and a slash."""
    if not 0 < len(client) <= CLIENT_NAME_CHARACTERS_MAX:
        raise error("sync.client-name", "the name of a client is empty or too long")
    if account and not client.startswith(f"{account}/"):
        raise error("sync.client-name", f"the name of a client of `{account}` begins with it")


async def _body(request: Request) -> bytes:
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > SYNC_REQUEST_BYTES_MAX:
        raise _too_long()
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SYNC_REQUEST_SECONDS_MAX):
            async for part in request.stream():
                size += len(part)
                if size > SYNC_REQUEST_BYTES_MAX:
                    raise _too_long()
                parts.append(part)
    except TimeoutError:
        raise error("sync.request-slow", "the request did not arrive in time") from None
    return b"".join(parts)


def _too_long() -> PenstockError:
    return error("sync.request-bytes", f"a request has more than {SYNC_REQUEST_BYTES_MAX:,} bytes")


def _reporting_errors(handler: _Handler) -> _Handler:
    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except PenstockError as refused:
            found = {"code": refused.code, "message": refused.message, "hint": refused.hint}
            status = _STATUS.get(refused.code, 400)
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            return JSONResponse({"error": found}, status, headers)
        except ClientDisconnect:
            return Response(status_code=400)

    return handle


async def _http_exception(_request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return JSONResponse({"error": {"message": problem.detail}}, problem.status_code)
