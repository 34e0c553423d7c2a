"""Divides a range of the inbox into tasks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from penstock.pipeline.limits import (
    INBOX_PARTITION_BYTES,
    INBOX_PARTITION_BYTES_MAX,
    INBOX_TASKS_PER_SLOT,
)
from penstock.workspace.inbox import Inbox
from penstock.workspace.journal_scanner import Found, JournalScanner, Missing


def plan_tasks(
    inbox: Inbox, scanner: JournalScanner, after: int, upto: int, *, slots: int | None = None
) -> list[list[Found]]:
    """Divide a range of documents into tasks.

    Entries are verified first: a task that finds a damaged one would end the stream. Damaged
    documents are set aside, and the others are processed. Those that were set aside before remain
    so, even if their file has been repaired: a replay of a batch has the same documents, and they
    may have been published again.

    Parameters
    ----------
    inbox, scanner
        The inbox, and a scanner of its journal.
    after, upto
        The range.
    slots
        How many tasks run at a time, if this is known.
    """
    set_aside = inbox.set_aside(after, upto)
    readable: list[Found] = []
    for found in scanner.scan(after, upto, verify=True):
        if isinstance(found, Missing):
            inbox.record_damage(found)
        else:
            readable += _without(found, set_aside)
    return list(grouped(readable, slots))


def _without(found: Found, ranges: Iterable[tuple[int, int]]) -> Iterator[Found]:
    """The parts of an entry that are outside the ranges, which are in order."""
    first = found.first
    for start, end in ranges:
        if first < start <= found.last:
            yield replace(found, first=first, last=start - 1)
        if start <= found.last:
            first = max(first, end + 1)
    if first <= found.last:
        yield replace(found, first=first)


def task_count(size: int, slots: int | None) -> int:
    """The number of tasks for documents of this size in bytes.

    Starting a task takes about as long as matching two megabytes, so a large batch gets few tasks
    per slot, unless they would be too large.

    Examples
    --------
    >>> megabyte = 1 << 20
    >>> [task_count(size * megabyte, slots=2) for size in (0, 1, 33, 60, 200, 256, 1_000)]
    [1, 1, 2, 4, 4, 4, 16]
    >>> [task_count(size * megabyte, slots=None) for size in (1, 33, 200)]
    [1, 2, 12]
    """
    wanted = max(1, round(size / INBOX_PARTITION_BYTES))
    if slots is None:
        return wanted
    return max(min(wanted, slots * INBOX_TASKS_PER_SLOT), -(-size // INBOX_PARTITION_BYTES_MAX))


def grouped(found: Sequence[Found], slots: int | None) -> Iterator[list[Found]]:
    """Consecutive entries in groups of about the same size."""
    total = sum(each.entry.content_bytes for each in found)
    share = max(1, -(-total // task_count(total, slots)))
    before = 0

    def group_of(each: Found) -> int:
        """The group that contains the middle of an entry."""
        nonlocal before
        middle = before + each.entry.content_bytes // 2
        before += each.entry.content_bytes
        return middle // share

    return (list(group) for _, group in itertools.groupby(found, group_of))
