"""Line numbers of a document's bytes."""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from penstock.matching.engine import Buffer

_BLOCK_BYTES: Final = 1 << 20
"""Line ends are located once per block of this size; even because of UTF-16."""

_LINE_END: Final = re.compile(rb"\n|\r(?!\n)")
"""A line end at its last byte; CR LF is one line end."""

_UTF_16_BYTE_ORDER: Final = {"utf-16le": "little", "utf-16be": "big"}


class Lines:
    """Maps byte offsets of one document to line numbers, lazily."""

    def __init__(self, document: Buffer, encoding: str) -> None:
        self._document = memoryview(document)
        # All other supported encodings encode line ends as ASCII does.
        self._byte_order = _UTF_16_BYTE_ORDER.get(encoding)
        self._blocks: list[array[int]] = []
        """Offsets just after each line end, by block, relative to the block."""
        self._before = [0]
        """Number of line ends before each block."""

    def at(self, offset: int) -> int:
        """The line number of a byte offset, from 1."""
        block, within = divmod(offset, _BLOCK_BYTES)
        while len(self._blocks) <= block:
            self._blocks.append(self._line_ends(len(self._blocks) * _BLOCK_BYTES))
            self._before.append(self._before[-1] + len(self._blocks[-1]))
        return 1 + self._before[block] + bisect_right(self._blocks[block], within)

    def _line_ends(self, start: int) -> array[int]:
        # Two bytes more, to recognise a CR LF that spans two blocks.
        content = bytes(self._document[start : start + _BLOCK_BYTES + 2])
        ends: Iterator[int]
        if self._byte_order is None:
            ends = (found.end() for found in _LINE_END.finditer(content))
        else:
            ends = _utf_16_line_ends(content, self._byte_order)
        return array("L", (end for end in ends if end <= _BLOCK_BYTES))


def _utf_16_line_ends(content: bytes, byte_order: str) -> Iterator[int]:
    units = array("H", content[: len(content) // 2 * 2])
    if byte_order != sys.byteorder:
        units.byteswap()
    for index, unit in enumerate(units):
        is_cr_lf = unit == 0x0D and units[index + 1 : index + 2] == array("H", [0x0A])
        if unit in (0x0A, 0x0D) and not is_cr_lf:
            yield 2 * index + 2
