"""The documents of a source: files, a watched folder, lines of standard input."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from penstock.errors import error
from penstock.service.peer.limits import (
    LINE_BYTES_MAX,
    POLL_SECONDS,
    PUBLISHED_DOCUMENT_BYTES_MAX,
    WATCHED_FILES_MAX,
)


class GivenDocument(NamedTuple):
    """A document before it is published."""

    origin: str
    """The file, or the line of standard input."""

    read: Callable[[], bytes]
    """Returns its content; reads at most one byte more than is allowed."""


async def documents_in(folder: Path) -> AsyncIterator[GivenDocument]:
    """The files of a folder by name, and for ever those that are added.

    Hidden files and folders are ignored. Files must be complete when they appear: write them
    elsewhere, or under a name that begins with a dot, and rename them.
    """
    published: set[str] = set()
    while True:
        found = sorted(
            each.name
            for each in folder.iterdir()
            if not each.name.startswith(".") and each.name not in published and each.is_file()
        )
        for name in found:
            published.add(name)
            yield GivenDocument(str(folder / name), _reader(folder / name))
        if len(published) > WATCHED_FILES_MAX:
            raise error("overlay.option", f"{folder} has more than {WATCHED_FILES_MAX:,} files")
        await asyncio.sleep(POLL_SECONDS)


async def documents_of_lines(stream: BinaryIO) -> AsyncIterator[GivenDocument]:
    """The lines of a stream that are not empty.

    Read in a thread that does not keep the process from ending: nobody may write the next line.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)

    def read() -> None:
        while True:
            line = stream.readline(LINE_BYTES_MAX + 1)
            try:
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            except (RuntimeError, asyncio.CancelledError):
                return  # The loop is closed.
            if not line:
                return

    threading.Thread(target=read, name="penstock-stdin", daemon=True).start()
    number = 0
    while line := await lines.get():
        number += 1
        if line.strip():
            yield GivenDocument(f"line {number}", line.rstrip(b"\r\n").__bytes__)


async def documents_of_files(
    given: Sequence[tuple[str, Callable[[], bytes]]],
    *,
    then: Sequence[AsyncIterator[GivenDocument]] = (),
) -> AsyncIterator[GivenDocument]:
    """Documents that are given by origin and content, and after them those of others in turn."""
    for origin, read in given:
        yield GivenDocument(origin, read)
    for documents in then:
        async for each in documents:
            yield each


def _reader(path: Path) -> Callable[[], bytes]:
    def read() -> bytes:
        with path.open("rb") as file:
            return file.read(PUBLISHED_DOCUMENT_BYTES_MAX + 1)

    return read
