"""The server's log: the decided statements, in the order that is the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.sync.operations import Operation
from penstock.sync.reports import Report


@dataclass(frozen=True, slots=True)
class AddressedReport:
    """A report to a client."""

    client: str
    report: Report


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A decided statement."""

    version: int
    client: str
    number: int
    """Number of the client's statement."""
    base: int
    """Version of the client's base when it made the statement."""
    effects: tuple[Operation, ...]
    """What was done: the operations that were applied, and the restored deletions of others. Places
    are recorded so that they do not depend on forgotten nodes."""
    reports: tuple[AddressedReport, ...] = ()
    text: str = ""
    incarnation: int = 0
    """Of the server that decided the statement."""


class UpdateLog:
    """The entries after the horizon."""

    def __init__(self, start: int, entries: Iterable[LogEntry] = ()) -> None:
        self.start = start
        """The entries after this version are known."""
        self._entries: list[LogEntry] = list(entries)
        self._operations = sum(map(_size, self._entries))

    @property
    def version(self) -> int:
        """The version of the last entry."""
        return self.start + len(self._entries)

    @property
    def operations(self) -> int:
        """The number of operations and reports in the entries."""
        return self._operations

    def start_of(self, operations_max: int) -> int:
        """The version after which the entries have at most that many operations and reports."""
        start, operations = self.version, 0
        for entry in reversed(self._entries):
            operations += _size(entry)
            if operations > operations_max:
                break
            start = entry.version - 1
        return start

    def append(self, entry: LogEntry) -> None:
        """Adds the next entry."""
        assert entry.version == self.version + 1
        self._entries.append(entry)
        self._operations += _size(entry)

    def after(self, version: int) -> Sequence[LogEntry]:
        """The entries after a version, which must not be before the start."""
        assert version >= self.start
        return self._entries[version - self.start :]

    def entry(self, version: int) -> LogEntry | None:
        """An entry, if it is known."""
        at = version - self.start - 1
        return self._entries[at] if 0 <= at < len(self._entries) else None

    def forget(self, version: int) -> None:
        """Drops the entries up to a version."""
        forgotten = max(0, version - self.start)
        self._operations -= sum(map(_size, self._entries[:forgotten]))
        del self._entries[:forgotten]
        self.start = max(self.start, version)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)


def _size(entry: LogEntry) -> int:
    return len(entry.effects) + len(entry.reports)
