"""A gzip stream with limits on its uncompressed size. Reports damage instead of raising."""

from __future__ import annotations

import io
import zlib
from typing import IO, Final

from penstock.errors import PenstockError, error

EXEMPT_BYTES: Final = 1 << 20
"""Uncompressed bytes that are exempt from the limit of the ratio: small files may compress well."""

READ_BYTES: Final = 64 << 10
"""Compressed bytes read at a time."""

GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
"""Makes zlib expect a gzip header and trailer."""


def is_gzip(path: str) -> bool:
    """Whether a file name is that of a gzip file."""
    return path.lower().endswith((".gz", ".gzip"))


class GzipStream(io.RawIOBase):
    """The uncompressed content of a gzip file. Supports sequential reads and forward seeks.

    At damage or past a limit the stream ends, and :attr:`damage` gives the reason.
    """

    def __init__(
        self, compressed: IO[bytes], compressed_bytes: int, *, bytes_max: int, ratio_max: int
    ) -> None:
        self._compressed = compressed
        self._bytes_max = bytes_max
        self._ratio_bytes = max(EXEMPT_BYTES, compressed_bytes * ratio_max)
        self._ratio_max = ratio_max
        self._inflate = zlib.decompressobj(GZIP_WBITS)
        self._pending = b""
        self._position = 0
        self._ended = False
        self.damage: PenstockError | None = None
        """Why the stream ended early, if it did."""

    def readable(self) -> bool:
        """Always true."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read up to an offset, which must not be before the current one."""
        assert whence == io.SEEK_SET, "the end is unknown"
        assert offset >= self._position, "only forward seeks are supported"
        while self._position < offset and self.read(min(offset - self._position, EXEMPT_BYTES)):
            pass
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Read ``size`` bytes, fewer only at the end."""
        parts: list[bytes] = []
        left = size if size >= 0 else self._bytes_max + 1
        while left and (part := self._read_some(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def exhaust(self) -> None:
        """Read to the end, which verifies the checksum."""
        while self.read(EXEMPT_BYTES):
            pass

    def _read_some(self, size: int) -> bytes:
        while not self._ended:
            try:
                part = self._inflate.decompress(self._pending, size)
            except zlib.error as problem:
                return self._end("archive.damaged", f"the compressed data is damaged: {problem}")
            self._pending = self._inflate.unconsumed_tail
            if part:
                return self._check_limits(part)
            if self._inflate.eof and not self._next_member():
                self._ended = True
            elif not self._pending and not self._inflate.eof:
                self._pending = self._compressed.read(READ_BYTES)
                if not self._pending:
                    return self._end("archive.damaged", "the compressed data is truncated")
        return b""

    def _next_member(self) -> bool:
        """Continue with the next gzip member of the file, if there is one."""
        rest = self._inflate.unused_data or self._compressed.read(READ_BYTES)
        if not rest.strip(b"\0"):
            return False
        self._inflate, self._pending = zlib.decompressobj(GZIP_WBITS), rest
        return True

    def _check_limits(self, part: bytes) -> bytes:
        self._position += len(part)
        if self._position > self._bytes_max:
            message = f"it expands to more than {self._bytes_max} bytes"
            return self._end("archive.bytes", message)
        if self._position > self._ratio_bytes:
            message = f"it expands to more than {self._ratio_max} times its size"
            return self._end("archive.ratio", message)
        return part

    def _end(self, code: str, message: str) -> bytes:
        self._ended = True
        self.damage = error(code, message)
        return b""
