"""Sample documents: files, and folders with all that is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import Protocol, Self, TypeVar

from penstock.cli.console import place_of, progress, show_error
from penstock.documents import Event, read_events
from penstock.errors import DocumentError


class Mergeable(Protocol):
    """What sums up sample documents."""

    def merged(self, other: Self, /) -> Self:
        """What both have seen."""


Summary = TypeVar("Summary", bound=Mergeable)


def sample_files(given: Iterable[Path]) -> list[Path]:
    """Files as given; of folders everything in them that is not hidden, by name."""
    found: list[Path] = []
    for path in given:
        found += _files_in(path) if path.is_dir() else [path]
    return found


def _files_in(folder: Path) -> list[Path]:
    inside = (path for path in folder.rglob("*") if path.is_file())
    parts = ((path, path.relative_to(folder).parts) for path in inside)
    return sorted(path for path, names in parts if not any(n.startswith(".") for n in names))


def sum_up(
    given: Sequence[Path],
    of: Callable[[list[Event]], Summary],
    nothing: Summary,
    *,
    as_json: bool,
) -> tuple[Summary, int]:
    """The summary of all samples that can be read, and how many cannot: these are told."""
    refused = 0

    def summaries() -> Iterable[Summary]:
        nonlocal refused
        for path in progress(sample_files(given), "reading"):
            try:
                yield of(read_events(path.read_bytes()))
            except DocumentError as reason:
                show_error(reason, place=place_of(path, reason), as_json=as_json)
                refused += 1

    return reduce(lambda one, other: one.merged(other), summaries(), nothing), refused
