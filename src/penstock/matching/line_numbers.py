"""Line numbers of a document's bytes."""

from __future__ import annotations

from typing import Final

from penstock.matching.engine import Buffer

_BLOCK_BYTES: Final = 1 << 20
"""Line ends are counted a block at a time, each block once; even, for UTF-16."""

_CODECS: Final = {"utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}


class Lines:
    """The lines of one document, counted as far as they are asked for."""

    def __init__(self, document: Buffer, encoding: str) -> None:
        self._document = memoryview(document)
        # In every other encoding that the reader takes, line ends are those of ASCII.
        self._codec = _CODECS.get(encoding, "latin-1")
        self._before = [0]
        """How many line ends are before each block."""

    def at(self, offset: int) -> int:
        """The line, from 1, of a byte."""
        block = offset // _BLOCK_BYTES
        while len(self._before) <= block:
            end = len(self._before) * _BLOCK_BYTES
            self._before.append(self._before[-1] + self._ends(end - _BLOCK_BYTES, end))
        return 1 + self._before[block] + self._ends(block * _BLOCK_BYTES, offset)

    def _ends(self, start: int, end: int) -> int:
        """How many line ends are in a range; one that is two characters counts with its second."""
        text = bytes(self._document[start:end]).decode(self._codec, "replace")
        after = bytes(self._document[end : end + 2]).decode(self._codec, "replace")
        count = text.count("\n") + text.count("\r") - text.count("\r\n")
        return count - (text.endswith("\r") and after.startswith("\n"))
