"""A session with a BaseX server, over the server's own protocol.

Strings are UTF-8 and end with a zero byte; in what the server sends, a byte 255 precedes each zero
byte and each byte 255 of the content. The protocol has no encryption; the password is not sent,
only a digest of it and a nonce.
"""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.errors import PenstockError, error
from penstock.workspace.limits import BASEX_ANSWER_BYTES_MAX, BASEX_SECONDS_MAX

_QUERY: Final = b"\x00"
_CLOSE: Final = b"\x02"
_BIND: Final = b"\x03"
_EXECUTE: Final = b"\x05"

_SPECIAL: Final = re.compile(rb"[\x00\xff]")
_ERROR_CODE: Final = re.compile(r"^\[([^\]]+)\] ", re.MULTILINE)
_SHOWN_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class BasexServer:
    """Where a BaseX server is, and who uses it."""

    host: str = "127.0.0.1"
    port: int = 1984
    user: str = "admin"
    password: str = field(repr=False)

    def __str__(self) -> str:
        return f"BaseX at {self.host}:{self.port}"


class BasexQueryError(Exception):
    """The server refused a query."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = _ERROR_CODE.search(message)
        self.code = "" if found is None else found[1]
        """The code of the error, such as ``db:open``; empty if the server failed."""


class BasexSession:
    """A session. One thread at a time may use it.

    Raises
    ------
    SyncError
        ``sync.basex``: the server cannot be reached, or refuses the user.
    """

    def __init__(self, server: BasexServer) -> None:
        self._server = server
        self._received = bytearray()
        self._position = 0
        self._is_broken = False
        try:
            self._socket = socket.create_connection(
                (server.host, server.port), timeout=BASEX_SECONDS_MAX
            )
        except OSError as problem:
            raise self._failed(problem) from problem
        try:
            self._log_in()
        except BaseException:
            self._socket.close()
            raise

    def _log_in(self) -> None:
        try:
            realm, colon, nonce = self._string().decode().partition(":")
        except UnicodeDecodeError as problem:
            raise self._failed(problem) from problem
        user = self._server.user
        if "\x00" in user or not colon:
            raise self._failed(ValueError("the greeting or the user name is invalid"))
        known = _digest(f"{user}:{realm}:{self._server.password}")
        self._send(user.encode(), _digest(known + nonce).encode())
        if self._byte():
            raise error("sync.basex", f"{self._server} refuses the user `{user}`")

    def query(self, text: str, variables: Mapping[str, tuple[str, str]] | None = None) -> bytes:
        """The result of a query, as it is serialised.

        An updating query is executed as a whole or not at all, unless the server is killed.

        Parameters
        ----------
        text
            XQuery.
        variables
            Values of external variables, and their types.

        Raises
        ------
        BasexQueryError
            The server refused the query.
        SyncError
            ``sync.basex``: the connection is lost. The session is then unusable.
        """
        self._send(_QUERY + text.encode())
        number = self._answer()
        try:
            for name, (value, kind) in (variables or {}).items():
                self._send(_BIND + number, name.encode(), value.encode("ascii"), kind.encode())
                self._answer()
            self._send(_EXECUTE + number)
            return self._answer()
        finally:
            if not self._is_broken:
                self._send(_CLOSE + number)
                self._answer()

    def close(self) -> None:
        """Ends the session."""
        self._socket.close()

    def __enter__(self) -> BasexSession:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    # Bytes

    def _failed(self, problem: Exception) -> PenstockError:
        self._is_broken = True
        return error("sync.basex", f"{self._server} gives no usable answer: {problem}")

    def _send(self, *strings: bytes) -> None:
        try:
            self._socket.sendall(b"".join(each + b"\x00" for each in strings))
        except OSError as problem:
            raise self._failed(problem) from problem

    def _answer(self) -> bytes:
        answer = self._string()
        if self._byte():
            message = self._string().decode(errors="replace")
            raise BasexQueryError(message[:_SHOWN_CHARACTERS])
        return answer

    def _receive(self) -> None:
        """Appends what arrives; before that, drops what was read."""
        del self._received[: self._position]
        self._position = 0
        try:
            received = self._socket.recv(1 << 16)
        except OSError as problem:
            raise self._failed(problem) from problem
        if not received:
            raise self._failed(EOFError("the connection is closed"))
        self._received += received

    def _byte(self) -> int:
        while self._position == len(self._received):
            self._receive()
        self._position += 1
        return self._received[self._position - 1]

    def _string(self) -> bytes:
        content = bytearray()
        while True:
            found = _SPECIAL.search(self._received, self._position)
            end = len(self._received) if found is None else found.start()
            content += self._received[self._position : end]
            self._position = end
            if len(content) > BASEX_ANSWER_BYTES_MAX:
                limit = f"more than {BASEX_ANSWER_BYTES_MAX:,} bytes"
                raise self._failed(ValueError(limit))
            if found is None:
                self._receive()
            elif self._byte() == 0:
                return bytes(content)
            else:
                content.append(self._byte())


def _digest(text: str) -> str:
    # The protocol's own choice.
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
