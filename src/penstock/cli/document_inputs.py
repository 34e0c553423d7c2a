"""The documents that a command is given: files, folders, glob patterns, pipes and stdin."""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import typer

from penstock.cli.sample_documents import sample_files

if TYPE_CHECKING:
    from penstock.matching import Matcher, Matches

STDIN: Final = "-"
"""The argument that stands for a document on standard input."""

CHUNK_BYTES: Final = 1 << 16
"""Bytes read from a pipe at a time."""


@dataclass(slots=True)
class DocumentInput:
    """One document: a file, or a pipe, which can be read only once."""

    path: Path
    is_pipe: bool
    _content: bytes | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return str(self.path)

    def content(self) -> bytes:
        """All bytes of the document; those of a pipe are kept.

        Reads one byte more than the limit of the reader, which refuses the document.
        """
        from penstock.documents import Limits

        if not self.is_pipe:
            return self.path.read_bytes()
        if self._content is None:
            with _opened(self.path) as file:
                self._content = file.read(Limits().document_bytes + 1)
        return self._content

    def reported_content(self) -> bytes | None:
        """All bytes of the document, which a report of a failure identifies.

        ``None`` if they are not available: those of a pipe that was read once, or of a file that
        is longer than the limit of the reader or cannot be read any more.
        """
        from penstock.documents import Limits

        if self.is_pipe:
            return self._content
        with suppress(OSError):
            if self.path.stat().st_size <= Limits().document_bytes:
                return self.path.read_bytes()
        return None

    def match(
        self, matcher: Matcher, *, fragments: bool = False, header: Mapping[str, str] | None = None
    ) -> Matches:
        """Matches the document, in one streaming pass if possible."""
        if not self.is_pipe:
            return matcher.match_file(self.path, fragments=fragments, header=header)
        if fragments or self._content is not None:
            return matcher.match(self.content(), fragments=fragments, header=header)
        with _opened(self.path) as file:
            chunks = iter(partial(file.read, CHUNK_BYTES), b"")
            return matcher.match_chunks(chunks, header=header)


def document_inputs(arguments: Sequence[Path]) -> list[DocumentInput]:
    """Expands folders (recursively, without hidden files) and glob patterns.

    Rejects the command line if something does not exist, or if a folder or pattern yields nothing.
    """
    if sum(str(each) == STDIN for each in arguments) > 1:
        raise _refused(f"`{STDIN}` (standard input) can be given only once")
    found = [each for argument in arguments for each in _expanded(argument)]
    if not found:
        raise _refused("give at least one document")
    return found


def paths_listed_in(source: Path) -> list[Path]:
    """Reads paths from a file, or from standard input if it is ``-``.

    They are one per line, or terminated by NUL as by ``find -print0``: a file name may contain a
    line feed, but no NUL.
    """
    try:
        with _opened(source) as file:
            # Undecodable bytes are legal in file names.
            text = file.read().decode(sys.getfilesystemencoding(), "surrogateescape")
    except FileNotFoundError:
        message = f"file `{source}` does not exist"
        raise typer.BadParameter(message, param_hint="--from") from None
    if "\0" in text:
        return [Path(name) for name in text.split("\0") if name]
    return [Path(line) for line in (each.rstrip("\r") for each in text.split("\n")) if line]


def _expanded(argument: Path) -> Iterable[DocumentInput]:
    name = str(argument)
    if name == STDIN:
        return [DocumentInput(argument, is_pipe=True)]
    try:
        mode = argument.stat().st_mode
    except OSError as failure:
        if not glob.has_magic(name):
            raise _refused(f"`{name}`: {failure.strerror}") from None
        matching = sorted(glob.iglob(name, recursive=True))
        if not matching:
            raise _refused(f"no file matches `{name}`") from None
        return [each for path in matching for each in _expanded(Path(path))]
    if stat.S_ISDIR(mode):
        inside = sample_files([argument])
        if not inside:
            raise _refused(f"the folder `{name}` contains no files")
        return [DocumentInput(path, is_pipe=False) for path in inside]
    if not os.access(argument, os.R_OK):
        raise _refused(f"`{name}` is not readable")
    return [DocumentInput(argument, is_pipe=not stat.S_ISREG(mode))]


def _opened(path: Path) -> AbstractContextManager[BinaryIO]:
    if str(path) == STDIN:
        return nullcontext(sys.stdin.buffer)  # not to be closed
    return path.open("rb")


def _refused(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="DOCUMENT...")
