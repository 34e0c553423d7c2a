"""A client's connection to a server over HTTP.

Sending a request again is safe: the server decides each numbered statement once, and computes its
answer from what the client acknowledges.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx

from penstock.errors import ERRORS, PenstockError, error
from penstock.links import BackOff
from penstock.service.sync.clone_description import CloneDescription
from penstock.service.sync.limits import (
    SYNC_ANSWER_BYTES_MAX,
    SYNC_ANSWER_SECONDS_MAX,
    SYNC_ATTEMPTS_MAX,
    SYNC_REQUEST_BYTES_MAX,
)
from penstock.service.sync.server_url import DocumentUrl
from penstock.sync.message_codec import FORMAT_VERSION, decode_messages, encode_request
from penstock.sync.messages import Message, Request, SyncRequest

_T = TypeVar("_T")

FIRST_PAUSE_SECONDS: Final = 0.2
"""Longest time before the second attempt; it doubles from attempt to attempt."""

TEMPORARY: Final = frozenset(
    ("sync.unreachable", "sync.stopping", "sync.streams", "sync.request-slow")
)
"""Codes of errors after which the same request may succeed."""

_DESCRIPTION_BYTES_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class DocumentDescription:
    """What a server says about a document."""

    version: int
    account: str
    """Clients' names begin with it; empty if the server does not require tokens."""


class SyncConnection:
    """Requests to a document of a server.

    Parameters
    ----------
    url
        The document.
    token
        The token of an account.
    tls
        Whom to trust; by default, the certificates of the system.
    plaintext
        Whether a token may be sent to another machine without TLS.
    transport
        Carries requests instead of the network; for tests.
    pause
        Waits a number of seconds between attempts.

    Raises
    ------
    SyncError
        ``sync.insecure``: the token would be sent to another machine without TLS.
    """

    def __init__(
        self,
        url: DocumentUrl,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        plaintext: bool = False,
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if token and not (url.is_encrypted or url.is_loopback or plaintext):
            raise error("sync.insecure", f"the token would be sent to {url.host} without TLS")
        self.url = url
        self._pause = pause
        self._client = httpx.Client(
            headers={} if not token else {"Authorization": f"Bearer {token}"},
            verify=_trusted(url) if tls is None else tls,
            timeout=SYNC_ANSWER_SECONDS_MAX,
            trust_env=not url.is_loopback,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def describe(self) -> DocumentDescription:
        """What the server says about the document."""
        answer = self._retry(lambda: self._read("GET", "", limit=_DESCRIPTION_BYTES_MAX))
        match _json(answer):
            case {"version": int(version), "account": str(account), "format": int(format_)}:
                if format_ != FORMAT_VERSION:
                    raise error(
                        "sync.unreachable",
                        f"the server has format {format_}, this version of Penstock"
                        f" {FORMAT_VERSION}",
                    )
                return DocumentDescription(version, account)
        raise error("sync.unreachable", f"{self.url} is not a document of a sync server")

    def clones(self) -> list[CloneDescription]:
        """The clones of the document that the account has, in order of their names."""
        answer = self._retry(lambda: self._read("GET", "/clients"))
        match _json(answer):
            case {"clients": list(rows)}:
                return [_clone_description(row) for row in rows]
        raise error("sync.unreachable", f"{self.url} is not a document of a sync server")

    def forget(self, client: str) -> None:
        """Removes a clone of the account from the server.

        Raises
        ------
        SyncError
            ``sync.client-unknown``: the server has no such clone.
        """
        # Not repeated: a second attempt could not distinguish its own success.
        self._read("DELETE", "/clients", params={"client": client}, limit=_DESCRIPTION_BYTES_MAX)

    def exchange(self, request: Request) -> tuple[Message, ...]:
        """Sends a request; returns the messages that answer it.

        Statements that do not fit into a request are left out; they stay pending.

        Raises
        ------
        SyncError
            ``sync.unreachable``: there was no answer, however often it was sent. Whether the server
            has decided the statements is then unknown; the next request finds out.
        """
        data = _encode_within_limit(request)
        answer = self._retry(lambda: self._read("POST", "/requests", content=data))
        return decode_messages(answer)

    def stream(self, client: str) -> Iterator[tuple[Message, ...] | None]:
        """Messages that the client did not request, as they arrive; ``None`` when it begins.

        Ends when the connection ends.
        """
        with self._translating(), self._open("GET", "/messages", params={"client": client}) as got:
            self._check(got)
            event = ""
            for line in got.iter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data:"):
                    if event == "open":
                        yield None
                    elif event == "message":
                        yield _decode_event(line.removeprefix("data:").strip())

    def _retry(self, attempt: Callable[[], _T]) -> _T:
        back_off = BackOff(random.Random(), first_seconds=FIRST_PAUSE_SECONDS)
        for _ in range(SYNC_ATTEMPTS_MAX - 1):
            try:
                return attempt()
            except PenstockError as problem:
                if problem.code not in TEMPORARY:
                    raise
            self._pause(back_off.next_seconds())
        return attempt()

    def _open(
        self,
        method: str,
        part: str,
        **options: Any,  # noqa: ANN401
    ) -> AbstractContextManager[httpx.Response]:
        return self._client.stream(method, self.url.resource(part), **options)

    def _read(
        self,
        method: str,
        part: str,
        *,
        content: bytes | None = None,
        params: Mapping[str, str] | None = None,
        limit: int = SYNC_ANSWER_BYTES_MAX,
    ) -> bytes:
        opened = self._open(method, part, content=content, params=params)
        with self._translating(), opened as answer:
            self._check(answer)
            return _limited(answer, limit)

    def _translating(self) -> AbstractContextManager[None]:
        return _TransportErrors(self.url)

    def _check(self, answer: httpx.Response) -> None:
        """Raises the error that an answer reports."""
        if answer.status_code == httpx.codes.OK:
            return
        match _json(_limited(answer, _DESCRIPTION_BYTES_MAX)):
            case {"error": {"code": str(code), "message": str(message)}} if code in ERRORS:
                raise error(code, message)
        status = answer.status_code
        what = "is not a document of a sync server" if status == httpx.codes.NOT_FOUND else "failed"
        raise error("sync.unreachable", f"{self.url} {what}: status {status}")


def _trusted(url: DocumentUrl) -> ssl.SSLContext:
    """Trusts the certificates of the system; without TLS none, since loading them takes long."""
    if url.is_encrypted:
        return ssl.create_default_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _TransportErrors(AbstractContextManager[None]):
    """Translates errors of httpx."""

    def __init__(self, url: DocumentUrl) -> None:
        self._url = url

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(problem, httpx.HTTPError | httpx.InvalidURL | httpx.StreamError):
            reason = str(problem) or type(problem).__name__
            raise error("sync.unreachable", f"{self._url}: {reason}") from problem


def _limited(answer: httpx.Response, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in answer.iter_bytes():
        size += len(part)
        if size > limit:
            raise error("sync.answer-bytes", f"an answer has more than {limit:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _clone_description(row: object) -> CloneDescription:
    match row:
        case {"client": str(client), "version": int(version), "query": str(query)}:
            return CloneDescription(client, version, query)
    raise error("sync.unreachable", "the server describes a clone in an unknown form")


def _decode_event(data: str) -> tuple[Message, ...]:
    try:
        return decode_messages(base64.b64decode(data, validate=True))
    except binascii.Error:
        raise error("sync.message", "an event is not encoded in Base64") from None


def _encode_within_limit(request: Request) -> bytes:
    """The bytes of a request with as many statements as fit."""
    while True:
        data = encode_request(request)
        if len(data) <= SYNC_REQUEST_BYTES_MAX:
            return data
        if not isinstance(request, SyncRequest) or len(request.statements) < 2:
            raise error("sync.request-bytes", f"a request has {len(data):,} bytes")
        request = replace(request, statements=request.statements[: len(request.statements) // 2])
