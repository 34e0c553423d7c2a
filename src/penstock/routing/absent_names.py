"""Absent names: names of the vocabulary that no element of a document has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from penstock.language import Query
from penstock.language.xpath.relaxation import required_elements
from penstock.routing.patterns import Pattern
from penstock.routing.skeleton import Rows
from penstock.routing.vocabulary import Vocabulary

if TYPE_CHECKING:
    from penstock._native import ClassifiedPaths


def encode_absent_names(paths: ClassifiedPaths) -> bytes:
    """A bitmap over the names of the vocabulary: those that no element of the document has."""
    return paths.absent_elements()


class AbsentNameFilter:
    """Excludes patterns that require an element which a document does not have.

    Parameters
    ----------
    vocabulary
        That of the announced set.
    rows
        The patterns, by row.
    """

    def __init__(self, vocabulary: Vocabulary, rows: Mapping[int, Pattern]) -> None:
        self._count = len(vocabulary.names)
        self._rows: Rows = np.array(sorted(rows), dtype=np.int64)
        numbers = {name: number for number, name in enumerate(vocabulary.names)}
        required = np.zeros((len(rows), _padded_bytes(self._count)), dtype=np.uint8)
        for position, row in enumerate(self._rows.tolist()):
            query = rows[row].query
            if isinstance(query, Query):
                for name in required_elements(query) & numbers.keys():
                    number = numbers[name]
                    required[position, number // 8] |= 1 << number % 8
        words = required.view(np.uint64)
        self._required = [np.ascontiguousarray(words[:, word]) for word in range(words.shape[1])]
        """A bitmap of the names that each row requires, word by word."""

    def excluded(self, encoded: bytes) -> Rows:
        """The rows that a document with these absent names does not match, ascending.

        Raises
        ------
        ValueError
            The bitmap does not have one bit for each name.
        """
        if (
            len(encoded) != (self._count + 7) // 8
            or int.from_bytes(encoded, "little") >> self._count
        ):
            raise ValueError("malformed bitmap of absent names")
        padded = encoded.ljust(_padded_bytes(self._count), b"\0")
        lacking = np.zeros(len(self._rows), dtype=np.uint64)
        for required, absent in zip(self._required, np.frombuffer(padded, np.uint64), strict=True):
            if absent:
                lacking |= required & absent
        excluded: Rows = self._rows[lacking != 0]
        return excluded


def _padded_bytes(count: int) -> int:
    """Bytes of a bitmap, in whole words."""
    return (count + 63) // 64 * 8
