"""Finds the entries of a range of documents in the journal, and what is missing from it."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from penstock.workspace.journal import (
    FILE_HEADER_BYTES,
    Entry,
    JournalFile,
    first_sequence,
    journal_files,
)

_PLACES_MAX: Final = 8
"""Places in the journal that a scanner remembers: the start and end of the last few ranges."""


@dataclass(frozen=True, slots=True)
class Found:
    """Documents of an entry."""

    path: Path
    entry: Entry
    first: int
    last: int
    """The documents that belong to the range, which may begin or end within the entry."""

    @property
    def documents(self) -> int:
        """Their number."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Missing:
    """Documents that cannot be read."""

    first: int
    last: int
    path: Path | None
    """The file that should contain them; ``None`` if there is no such file."""
    reason: str


class _Place(NamedTuple):
    name: str
    offset: int


class JournalScanner:
    """Scans ranges of the journal, each from where an earlier one ended.

    A file may have tens of thousands of small entries; a stream reads it range by range.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[int, _Place] = {}

    def scan(self, after: int, upto: int, *, verify: bool = False) -> Iterator[Found | Missing]:
        """The entries of the documents after one sequence number and up to another, in order.

        Parameters
        ----------
        after, upto
            The range; all of its documents are published.
        verify
            Whether to read the payload of every entry: if its checksum is wrong, its documents are
            missing.
        """
        files = journal_files(self._folder)
        firsts = [*map(first_sequence, files), upto + 1]
        number = max(bisect.bisect_right(firsts, after + 1, hi=len(files)) - 1, 0)
        expected = after + 1
        for path, following in zip(files[number:], firsts[number + 1 :], strict=True):
            if expected > upto or first_sequence(path) > upto:
                break
            if first_sequence(path) > expected:
                yield Missing(expected, first_sequence(path) - 1, None, "the file is missing")
                expected = first_sequence(path)
            last = min(following - 1, upto)
            for found in self._scan_file(path, expected, last, verify):
                yield found
                expected = found.last + 1
        if expected <= upto:
            yield Missing(expected, upto, None, "the file is missing")

    def _scan_file(
        self, path: Path, expected: int, last: int, verify: bool
    ) -> Iterator[Found | Missing]:
        """The entries of one file, which should contain all documents of the range."""
        start: tuple[int, int] | None = None
        with JournalFile(path) as file:
            try:
                for entry in file.entries(self._offset_before(expected, path)):
                    if entry.last < expected:
                        continue
                    if entry.first > last:
                        break
                    reached = expected, entry.offset
                    start = start or reached
                    if entry.first > expected:
                        yield Missing(expected, entry.first - 1, path, "an entry is damaged")
                        expected = entry.first
                    end = min(entry.last, last)
                    if verify and not file.is_intact(entry):
                        yield Missing(expected, end, path, "the checksum of an entry is wrong")
                    else:
                        yield Found(path, entry, expected, end)
                    expected = end + 1
                    reached = expected, entry.end if end == entry.last else entry.offset
                    if expected > last:
                        return
            finally:  # also if the caller has seen enough
                if start is not None:
                    self._remember(path, *start)
                    self._remember(path, *reached)
        if expected <= last:
            yield Missing(expected, last, path, "the file is truncated or no journal file")

    def _offset_before(self, sequence: int, path: Path) -> int:
        """The offset of the last known entry that is not behind a document."""
        known = [
            (number, place.offset)
            for number, place in self._places.items()
            if place.name == path.name and number <= sequence
        ]
        return max(known)[1] if known else FILE_HEADER_BYTES

    def _remember(self, path: Path, sequence: int, offset: int) -> None:
        self._places.pop(sequence, None)
        self._places[sequence] = _Place(path.name, offset)
        while len(self._places) > _PLACES_MAX:
            del self._places[next(iter(self._places))]
