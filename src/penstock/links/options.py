"""How a side of a link behaves: its name, its limits, its time-outs."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, get_args

from penstock.errors import error
from penstock.links.limits import (
    CAPABILITIES,
    CAPABILITY_CHARACTERS,
    HEARTBEAT_TIMEOUT_MS_MAX,
    HEARTBEAT_TIMEOUT_MS_MIN,
    NAME_CHARACTERS,
    TOKEN_BYTES_MIN,
    LinkLimits,
)

__all__ = ["LinkOptions", "SlowConsumerPolicy"]

SlowConsumerPolicy = Literal["block", "disconnect"]
"""What happens when a peer does not acknowledge: wait for it, or close the connection."""

NAME_PATTERN = r"\A[A-Za-z0-9._:@/-]+\Z"
"""Names and capabilities are ASCII without spaces, so they are safe in logs and reports."""

_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """Options of one side of a link.

    >>> LinkOptions(name="router-1").slow_consumer
    'block'
    """

    name: str
    """Name of this router; the peer finds the session and the token by it."""

    limits: LinkLimits = field(default_factory=LinkLimits)

    capabilities: Collection[str] = frozenset()
    """What this side supports besides the protocol itself; the peer's application reads it."""

    heartbeat_seconds: float = 5.0
    """Time between two heartbeats of this side; the peer's time-out can make it shorter."""

    heartbeat_timeout_seconds: float = 15.0
    """Time without a complete frame after which a connection counts as dead."""

    handshake_seconds: float = 10.0
    """Time for the whole handshake, however many bytes arrive."""

    close_seconds: float = 5.0
    """Time that this side waits for the peer's answer when it closes."""

    slow_consumer: SlowConsumerPolicy = "block"
    """What happens when the peer's window stays full. ``block``: sending waits. ``disconnect``:
    after ``slow_consumer_seconds`` the connection is closed with ``link.slow-consumer``; session
    and messages stay, so nothing is lost."""

    slow_consumer_seconds: float = 30.0
    """Time without an acknowledgement, with a full window, after which a consumer is slow."""

    checksum: bool = True
    """Whether messages carry a CRC-32. The driver sends none over TLS, which detects more."""

    def __post_init__(self) -> None:
        # A sorted tuple: the transcript of a handshake must not depend on the order of a set.
        object.__setattr__(self, "capabilities", tuple(sorted(set(self.capabilities))))
        _check_name("name", self.name, NAME_CHARACTERS)
        for capability in self.capabilities:
            _check_name("capability", capability, CAPABILITY_CHARACTERS)
        if len(self.capabilities) > CAPABILITIES:
            raise error("link.option", f"there are more than {CAPABILITIES} capabilities")
        for name in (
            "heartbeat_seconds",
            "handshake_seconds",
            "close_seconds",
            "slow_consumer_seconds",
        ):
            if not 0 < getattr(self, name) < float("inf"):
                raise error("link.option", f"{name} must be a positive number of seconds")
        if not HEARTBEAT_TIMEOUT_MS_MIN <= self.heartbeat_timeout_ms <= HEARTBEAT_TIMEOUT_MS_MAX:
            raise error(
                "link.option",
                f"heartbeat_timeout_seconds must be between {HEARTBEAT_TIMEOUT_MS_MIN} ms and"
                f" {HEARTBEAT_TIMEOUT_MS_MAX} ms",
            )
        if self.slow_consumer not in get_args(SlowConsumerPolicy):
            raise error("link.option", f"unknown slow-consumer policy {self.slow_consumer!r}")

    @property
    def heartbeat_timeout_ms(self) -> int:
        """The time-out as the handshake states it."""
        return round(self.heartbeat_timeout_seconds * 1000)


def _check_name(what: str, value: str, characters_max: int) -> None:
    if not _NAME.match(value) or len(value) > characters_max:
        raise error(
            "link.option",
            f"the {what} {value!r} must consist of at most {characters_max} ASCII letters, digits"
            " and ._:@/-",
        )


def check_token(token: bytes) -> bytes:
    """Returns ``token``, or raises ``link.option`` if it is too short."""
    if len(token) < TOKEN_BYTES_MIN:
        raise error(
            "link.option", f"a token has at least {TOKEN_BYTES_MIN} bytes, chosen at random"
        )
    return token
