"""Collects and summarizes sample documents, given as files or folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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

    summary = empty

    def add(document: bytes) -> None:
        nonlocal summary
        summary = summary.merged(summary_of(read_events(document)))

    refused = read_samples(paths, add, as_json=as_json)
    return summary, refused


def read_samples(paths: Sequence[Path], add: Callable[[bytes], None], *, as_json: bool) -> int:
    """Passes each sample to ``add``; reports those that it refuses, and returns their number."""
    refused = 0
    for path in progress(sample_files(paths), "reading"):
        try:
            add(path.read_bytes())
        except DocumentError as reason:
            show_error(reason, place=place_of(path, reason), as_json=as_json)
            refused += 1
    return refused
