"""Versions of the registered mappings: immutable files named by their digest.

A file holds a complete :class:`~penstock.mediation.MappingTable`: the mapping of each schema, the
mappings themselves, and the policy for unknown schemas. A batch records the file's URI, so a replay
uses the same mappings, whatever was registered in between.
"""

from __future__ import annotations

from typing import Final

from penstock.mediation import MappingChooser, MappingTable
from penstock.workspace.content_files import read_content, write_content
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
    name = write_content(folder, table.to_text().encode(), SUFFIX)
    return f"{FileStore.at(folder).uri.rstrip('/')}/{name}"


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
    return MappingTable.from_text(read_content(folder, name).decode())
