"""The token file: which peers a router accepts, what they may do, and their tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from penstock.errors import error
from penstock.links.limits import TOKEN_BYTES_MIN
from penstock.service.router.limits import TOKEN_FILE_BYTES_MAX


class Role(StrEnum):
    """What a peer may do."""

    ROUTER = "router"
    """It is a neighbour: it receives and forwards documents and states its interest."""

    CLIENT = "client"
    """It publishes documents and has subscriptions under its own name."""


@dataclass(frozen=True, slots=True)
class PeerToken:
    """A line of a token file."""

    role: Role
    token: bytes


def read_tokens(path: Path) -> Mapping[str, PeerToken]:
    """The peers of a token file, by name.

    A line has a name, a role and a token of at least 32 hexadecimal digits, separated by spaces. A
    token belongs to a pair: the other side has it under this side's name. Empty lines and lines
    that begin with ``#`` are ignored.

    Raises
    ------
    RoutingError
        ``routing.token-file``: a line is malformed; the message does not quote it.
    """
    if path.stat().st_size > TOKEN_FILE_BYTES_MAX:
        raise error("routing.token-file", f"{path} is longer than {TOKEN_FILE_BYTES_MAX:,} bytes")
    found: dict[str, PeerToken] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, role, token = line.split()
            secret = bytes.fromhex(token)
            peer = PeerToken(Role(role), secret)
        except ValueError:
            raise error(
                "routing.token-file",
                f"{path}, line {number}: expected a name, `router` or `client`, and hexadecimal"
                " digits",
            ) from None
        if len(secret) < TOKEN_BYTES_MIN:
            raise error(
                "routing.token-file",
                f"{path}, line {number}: a token has at least {2 * TOKEN_BYTES_MIN} digits",
            )
        if name in found:
            raise error("routing.token-file", f"{path}, line {number}: {name} has a token already")
        found[name] = peer
    return found
