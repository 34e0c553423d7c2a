"""Where a server listens and a client connects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Address", "TcpAddress", "UnixAddress"]


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host and a port; a server that listens on port 0 gets a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket in the file system, which only its owner can connect to."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


Address = TcpAddress | UnixAddress
