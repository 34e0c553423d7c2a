"""The reference's index on disk: a header, then one subscription a line, in JSON.

The native core has a format of its own, made to be mapped into memory; this one is made to be
read. Both are immutable, versioned and carry a checksum, and are refused in the same words.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from penstock.errors import error

MAGIC = b"penstock reference index\n"
"""The first line of every file of XPath subscriptions, whatever its version."""

KEYWORD_MAGIC = b"penstock reference index of keywords\n"
"""The first line of every file of keyword subscriptions, whatever its version."""

VERSION = 1
"""The version that is written, and the highest that is read."""


def write_index(
    path: str | PathLike[str], magic: bytes, subscriptions: Iterable[Mapping[str, object]]
) -> None:
    """Write the file beside its place, make it durable, and only then give it its name."""
    path = Path(path)
    body = b"".join(json.dumps(each).encode() + b"\n" for each in subscriptions)
    header = {"version": VERSION, "sha256": hashlib.sha256(body).hexdigest()}
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(magic + json.dumps(header).encode() + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_index(path: str | PathLike[str], magic: bytes) -> list[dict[str, Any]]:
    """The subscriptions of a file that begins with ``magic``.

    Raises
    ------
    IndexFileError
        ``index.too-new`` or ``index.damaged``.
    """
    content = Path(path).read_bytes()
    assert content.startswith(magic)
    header_line, _, body = content.removeprefix(magic).partition(b"\n")
    version, digest = _header(header_line, path)
    if version > VERSION:
        raise error(
            "index.too-new", f"{path} has version {version}, and {VERSION} is the newest known"
        )
    if version < 1 or hashlib.sha256(body).hexdigest() != digest:
        raise error("index.damaged", f"the content of {path} does not meet its checksum")
    return [json.loads(line) for line in body.splitlines()]


def _header(line: bytes, path: str | PathLike[str]) -> tuple[int, str]:
    try:
        header = json.loads(line)
        return int(header["version"]), str(header["sha256"])
    except (ValueError, KeyError, TypeError) as reason:
        raise error("index.damaged", f"the header of {path} cannot be read") from reason


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
