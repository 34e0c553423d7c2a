"""Versions of the registered mappings: immutable files named by their digest.

A file holds a complete :class:`~penstock.mediation.MappingTable`: the mapping of each schema, the
mappings themselves, and the policy for unknown schemas. A batch records the file's URI, so a replay
uses the same mappings, whatever was registered in between.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Final

from penstock.errors import IndexFileError, error
from penstock.mediation import MappingChooser, MappingTable
from penstock.workspace.atomic_files import atomic_write
from penstock.workspace.file_store import FileStore

SUFFIX: Final = ".mappings"


def write_mappings(folder: str, table: MappingTable) -> str:
    """Write a version of the mappings; an existing file is left alone.

    Parameters
    ----------
    folder
        A path, or a URI that Arrow understands.
    table
        The table of a :class:`~penstock.mediation.Mediator`.

    Returns
    -------
    The file's URI.
    """
    content = table.to_text().encode()
    name = f"{hashlib.sha256(content).hexdigest()}{SUFFIX}"
    store = FileStore.at(folder)
    uri = f"{store.uri.rstrip('/')}/{name}"
    if _is_readable(uri):
        store.touch(name)
        return uri
    if store.local is not None:
        store.local.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store.local) as build_directory:
        path = Path(build_directory) / name
        with atomic_write(path) as file:
            file.write(content)
        store.put(name, path)
    return uri


def open_mappings(uri: str) -> MappingChooser:
    """Open a version of the mappings, to choose the mapping of each document.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged`` or ``index.too-new``.
    """
    return MappingChooser(read_mappings(uri))


def read_mappings(uri: str) -> MappingTable:
    """Read the mapping table of a version.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged`` or ``index.too-new``.
    """
    folder, _, name = uri.rpartition("/")

    def verify(copy: Path) -> None:
        if f"{hashlib.sha256(copy.read_bytes()).hexdigest()}{SUFFIX}" != name:
            raise error("index.damaged", f"{uri} does not match its digest")

    path = FileStore.at(folder).local_path(name, verify)
    verify(path)
    return MappingTable.from_text(path.read_text("utf-8"))


def _is_readable(uri: str) -> bool:
    try:
        read_mappings(uri)
    except IndexFileError:
        return False
    return True
