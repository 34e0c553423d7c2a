"""The index file of the reference engines: a header, then rows of JSON.

The native format is designed for memory mapping, this one for readability. Both are immutable,
versioned and checksummed, and raise the same errors.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeVar

from penstock.errors import error

Content = TypeVar("Content")

MAGIC = b"penstock reference index\n"
"""The first line of every file of XPath subscriptions, whatever its version."""

KEYWORD_MAGIC = b"penstock reference index of keywords\n"
"""The first line of every file of keyword subscriptions, whatever its version."""

VERSIONS: Final[Mapping[bytes, int]] = {MAGIC: 1, KEYWORD_MAGIC: 2}
"""The version written, and the highest version read. In version 1, files of keyword subscriptions
did not begin with a row of tokenizer options."""


def write_index(
    path: str | PathLike[str], magic: bytes, rows: Iterable[Mapping[str, object]]
) -> None:
    """Write a temporary file, sync it, then rename it."""
    path = Path(path)
    content = encode_index(magic, rows)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def encode_index(magic: bytes, rows: Iterable[Mapping[str, object]]) -> bytes:
    """The content of an index file."""
    body = b"".join(json.dumps(each).encode() + b"\n" for each in rows)
    header = {"version": VERSIONS[magic], "sha256": hashlib.sha256(body).hexdigest()}
    return magic + json.dumps(header).encode() + b"\n" + body


def read_index(
    path: str | PathLike[str],
    magic: bytes,
    convert: Callable[[Iterator[dict[str, Any]]], Content],
) -> Content:
    """The rows of a file, as :func:`decode_index` returns them."""
    return decode_index(Path(path).read_bytes(), path, magic, convert)


def decode_index(
    content: bytes,
    path: str | PathLike[str],
    magic: bytes,
    convert: Callable[[Iterator[dict[str, Any]]], Content],
) -> Content:
    """The rows in the content of a file, converted by ``convert``.

    Raises
    ------
    IndexFileError
        ``index.not-an-index``, ``index.too-new`` or ``index.damaged``.
    """
    if not content.startswith(magic):
        raise error("index.not-an-index", f"{path} is not an index file of this kind of query")
    header_line, _, body = content.removeprefix(magic).partition(b"\n")
    version, digest = _header(header_line, path)
    if version > VERSIONS[magic]:
        raise error(
            "index.too-new",
            f"{path} has version {version}; the newest supported is {VERSIONS[magic]}",
        )
    if version < 1 or hashlib.sha256(body).hexdigest() != digest:
        raise error("index.damaged", f"the content of {path} does not match its checksum")
    # Whoever can write the file can compute its checksum.
    try:
        return convert(map(json.loads, body.splitlines()))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as reason:
        raise error("index.damaged", f"the content of {path} is invalid") from reason


def _header(line: bytes, path: str | PathLike[str]) -> tuple[int, str]:
    try:
        header = json.loads(line)
        return int(header["version"]), str(header["sha256"])
    except (ValueError, KeyError, TypeError) as reason:
        raise error("index.damaged", f"the header of {path} cannot be read") from reason


def _sync_folder(folder: Path) -> None:
    """Sync the directory entry."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
