"""Gzip as a stream that cannot explode: bounded, and its damage told instead of raised."""

from __future__ import annotations

import io
import zlib
from typing import IO, Final

from penstock.errors import PenstockError, error

FREE_BYTES: Final = 1 << 20
"""So much may come out of however little: small things compress well without malice."""

READ_BYTES: Final = 64 << 10

GZIP: Final = 16 + zlib.MAX_WBITS


def is_gzip(path: str) -> bool:
    """Whether a file is compressed, by its name."""
    return path.lower().endswith((".gz", ".gzip"))


class Unpacked(io.RawIOBase):
    """What a gzip file holds, from front to back; seeking forward is reading on.

    At damage and past a limit it ends, as if there were no more, and :attr:`damage` says why.
    """

    def __init__(
        self, packed: IO[bytes], packed_bytes: int, *, bytes_max: int, ratio_max: int
    ) -> None:
        self._packed = packed
        self._bytes_max = bytes_max
        self._ratio_bytes = max(FREE_BYTES, packed_bytes * ratio_max)
        self._ratio_max = ratio_max
        self._inflate = zlib.decompressobj(GZIP)
        self._pending = b""
        self._at = 0
        self._ended = False
        self.damage: PenstockError | None = None
        """Why there is no more, where that is not its end."""

    def readable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read on to a place that is not behind."""
        assert whence == io.SEEK_SET, "its end is not known"
        assert offset >= self._at, "what is unpacked is gone"
        while self._at < offset and self.read(min(offset - self._at, FREE_BYTES)):
            pass
        return self._at

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer only at the end."""
        parts: list[bytes] = []
        left = size if size >= 0 else self._bytes_max + 1
        while left and (part := self._some(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def exhaust(self) -> None:
        """Read to the end, where its checksum stands."""
        while self.read(FREE_BYTES):
            pass

    def _some(self, size: int) -> bytes:
        while not self._ended:
            try:
                part = self._inflate.decompress(self._pending, size)
            except zlib.error as problem:
                return self._end("archive.damaged", f"the compressed data is damaged: {problem}")
            self._pending = self._inflate.unconsumed_tail
            if part:
                return self._counted(part)
            if self._inflate.eof and not self._next_member():
                self._ended = True
            elif not self._pending and not self._inflate.eof:
                self._pending = self._packed.read(READ_BYTES)
                if not self._pending:
                    return self._end("archive.damaged", "the compressed data ends too early")
        return b""

    def _next_member(self) -> bool:
        """Go on with what was compressed after this and appended; whether there is any."""
        rest = self._inflate.unused_data or self._packed.read(READ_BYTES)
        if not rest.strip(b"\0"):
            return False
        self._inflate, self._pending = zlib.decompressobj(GZIP), rest
        return True

    def _counted(self, part: bytes) -> bytes:
        self._at += len(part)
        if self._at > self._bytes_max:
            message = f"it unpacks to more than {self._bytes_max} bytes"
            return self._end("archive.bytes", message)
        if self._at > self._ratio_bytes:
            message = f"it unpacks to more than {self._ratio_max} times its size"
            return self._end("archive.ratio", message)
        return part

    def _end(self, code: str, message: str) -> bytes:
        self._ended = True
        self.damage = error(code, message)
        return b""
