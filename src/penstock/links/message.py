"""Messages: what a session carries."""

from __future__ import annotations

import zlib

import msgspec

__all__ = ["Message"]


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A header and a body, both opaque to the link. The body is passed on without encoding it.

    >>> Message(header=b"h", body=b"<a/>").size
    5
    """

    header: bytes = b""
    body: bytes = b""
    kind: int = 0
    """A number from 0 to 255 by which the application tells its messages apart."""

    def __post_init__(self) -> None:
        # A mutable buffer could change between the first transmission and the second.
        if type(self.header) is not bytes or type(self.body) is not bytes:
            raise TypeError("header and body of a message are bytes")
        if not 0 <= self.kind <= 255:
            raise ValueError(f"the kind of a message is between 0 and 255, not {self.kind}")

    @property
    def size(self) -> int:
        """Bytes of header and body."""
        return len(self.header) + len(self.body)

    def checksum(self) -> int:
        """CRC-32 of kind, header and body."""
        return zlib.crc32(self.body, zlib.crc32(self.header, zlib.crc32(bytes((self.kind,)))))
