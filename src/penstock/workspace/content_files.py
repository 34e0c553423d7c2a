"""Small immutable files that are named by the digest of their content."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from penstock.errors import IndexFileError, error
from penstock.workspace.atomic_files import atomic_write
from penstock.workspace.file_store import FileStore


def write_content(folder: str, content: bytes, suffix: str) -> str:
    """Write a file unless it exists.

    Parameters
    ----------
    folder
        A path, or a URI that Arrow understands.
    content
        The content of the file.
    suffix
        What follows the digest in its name.

    Returns
    -------
    The name of the file.
    """
    name = f"{hashlib.sha256(content).hexdigest()}{suffix}"
    store = FileStore.at(folder)
    if _is_readable(store, name):
        store.touch(name)
        return name
    if store.local is not None:
        store.local.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store.local) as build_directory:
        path = Path(build_directory) / name
        with atomic_write(path) as file:
            file.write(content)
        store.put(name, path)
    return name


def read_content(folder: str, name: str) -> bytes:
    """Read a file, and verify that its content has the digest.

    Raises
    ------
    IndexFileError
        ``index.missing`` or ``index.damaged``.
    """
    return _read(FileStore.at(folder), name)


def _read(store: FileStore, name: str) -> bytes:
    def verify(copy: Path) -> None:
        if hashlib.sha256(copy.read_bytes()).hexdigest() != name.partition(".")[0]:
            raise error("index.damaged", f"{store.uri}/{name} does not match its digest")

    path = store.local_path(name, verify)
    verify(path)
    return path.read_bytes()


def _is_readable(store: FileStore, name: str) -> bool:
    try:
        _read(store, name)
    except IndexFileError:
        return False
    return True
