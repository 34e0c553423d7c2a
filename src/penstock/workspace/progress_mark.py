"""Names the input that a process is working on, in a file that outlives the process.

The file is mapped into memory: setting the mark copies a few bytes, without a system call. The
kernel keeps what was written when the process ends, however it ends. After a power failure the mark
may be older or missing, which is harmless: then it was not the input that ended the process.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import Path
from typing import Final

from penstock.workspace.private_files import FILE_MODE

MARK_BYTES: Final = 256
"""Bytes of the file. The mark of a longer text is its digest."""


class ProgressMark:
    """The mark of a process. One process at a time uses it.

    Parameters
    ----------
    path
        The file, which is created unless it exists.
    """

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, FILE_MODE)
        try:
            # Written and not only lengthened, so that a full disk is an error here.
            content = os.read(descriptor, MARK_BYTES).ljust(MARK_BYTES, b"\0")
            os.pwrite(descriptor, content, 0)
            self._memory = mmap.mmap(descriptor, MARK_BYTES)
        finally:
            os.close(descriptor)

    @property
    def text(self) -> str:
        """The mark; empty if it is not set."""
        return bytes(self._memory).rstrip(b"\0").decode(errors="backslashreplace")

    def set(self, text: str) -> None:
        """Names an input. Compare marks with :func:`mark_text`."""
        self._memory[:] = mark_text(text).encode().ljust(MARK_BYTES, b"\0")

    def clear(self) -> None:
        """The process is not working on an input."""
        self._memory[:] = bytes(MARK_BYTES)

    def close(self) -> None:
        """Closes the file; the mark stays as it is."""
        self._memory.close()


def mark_text(text: str) -> str:
    """The text that :attr:`ProgressMark.text` has after ``text`` was set."""
    encoded = text.encode()
    return text if len(encoded) <= MARK_BYTES else hashlib.sha256(encoded).hexdigest()
