"""Line numbers of a document's bytes."""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile(rb"\r\n?|\n")
_LINE_END_UTF_16 = {
    "utf-16le": re.compile(rb"\r\0(?:\n\0)?|\n\0", re.DOTALL),
    "utf-16be": re.compile(rb"\0\r(?:\0\n)?|\0\n", re.DOTALL),
}


class Lines:
    """The lines of one document; for many questions, since all lines are found at once."""

    def __init__(self, document: bytes, encoding: str) -> None:
        # In every other encoding that the reader takes, line ends are those of ASCII.
        pattern, unit = _LINE_END_UTF_16.get(encoding), 2
        if pattern is None:
            pattern, unit = _LINE_END, 1
        self._ends = [
            found.end() for found in pattern.finditer(document) if found.start() % unit == 0
        ]

    def at(self, offset: int) -> int:
        """The line, from 1, of a byte."""
        return 1 + bisect_right(self._ends, offset)
