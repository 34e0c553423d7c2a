"""Collects and summarizes sample documents, given as files or folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from penstock.cli.console import place_of, progress, show_error
from penstock.errors import DocumentError

if TYPE_CHECKING:
    from penstock.documents import Event


class Mergeable(Protocol):
    """A summary of documents that can be merged with another."""

    def merged(self, other: Self, /) -> Self:
        """The summary of the documents of both."""


Summary = TypeVar("Summary", bound=Mergeable)


def sample_files(paths: Iterable[Path]) -> list[Path]:
    """Expands folders recursively, sorted by name and without hidden files."""
    found: list[Path] = []
    for path in paths:
        found += _files_in(path) if path.is_dir() else [path]
    return found


def _files_in(folder: Path) -> list[Path]:
    inside = (path for path in folder.rglob("*") if path.is_file())
    parts = ((path, path.relative_to(folder).parts) for path in inside)
    return sorted(path for path, names in parts if not any(n.startswith(".") for n in names))


def summarize(
    paths: Sequence[Path],
    summary_of: Callable[[list[Event]], Summary],
    empty: Summary,
    *,
    as_json: bool,
) -> tuple[Summary, int]:
    """Merges the summaries of all readable samples; also returns how many were unreadable.

    Unreadable documents are reported on stderr.
    """
    from penstock.documents import read_events

    refused = 0

    def summaries() -> Iterable[Summary]:
        nonlocal refused
        for path in progress(sample_files(paths), "reading"):
            try:
                yield summary_of(read_events(path.read_bytes()))
            except DocumentError as reason:
                show_error(reason, place=place_of(path, reason), as_json=as_json)
                refused += 1

    return reduce(lambda one, other: one.merged(other), summaries(), empty), refused
