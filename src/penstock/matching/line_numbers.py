"""Line numbers of a document's bytes."""

from __future__ import annotations

from typing import Final

from penstock.matching.engine import Buffer

_BLOCK_BYTES: Final = 1 << 20
"""Line ends are counted once per block of this size; even because of UTF-16."""

_CODECS: Final = {"utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}


class Lines:
    """Maps byte offsets of one document to line numbers, lazily."""

    def __init__(self, document: Buffer, encoding: str) -> None:
        self._document = memoryview(document)
        # All other supported encodings encode line ends as ASCII does.
        self._codec = _CODECS.get(encoding, "latin-1")
        self._before = [0]
        """Number of line ends before each block."""

    def at(self, offset: int) -> int:
        """The line number of a byte offset, from 1."""
        block = offset // _BLOCK_BYTES
        while len(self._before) <= block:
            end = len(self._before) * _BLOCK_BYTES
            self._before.append(self._before[-1] + self._ends(end - _BLOCK_BYTES, end))
        return 1 + self._before[block] + self._ends(block * _BLOCK_BYTES, offset)

    def _ends(self, start: int, end: int) -> int:
        """Number of line ends in a range; CR LF counts where its LF is."""
        text = bytes(self._document[start:end]).decode(self._codec, "replace")
        after = bytes(self._document[end : end + 2]).decode(self._codec, "replace")
        count = text.count("\n") + text.count("\r") - text.count("\r\n")
        return count - (text.endswith("\r") and after.startswith("\n"))
