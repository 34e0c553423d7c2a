"""The mappings of one moment, as an immutable file named by its digest.

What :class:`~penstock.mediation.MappingTable` has stands in it whole: which schema has which
mapping, the mappings, and what becomes of documents of unknown schemas. A batch that records the
file's URI is mediated the same when it is replayed, whatever was registered meanwhile.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

from penstock.errors import IndexFileError, error
from penstock.mediation import MappingCache, MappingChooser, MappingTable
from penstock.workspace.atomic_files import writing
from penstock.workspace.file_store import Folder
from penstock.workspace.limits import OPEN_VERSIONS_MAX

SUFFIX: Final = ".mappings"


def write_mappings(folder: str, table: MappingTable) -> str:
    """Write the mappings of a moment; a file that is there already is left alone.

    Parameters
    ----------
    folder
        A path, or a URI that Arrow understands.
    table
        What a :class:`~penstock.mediation.Mediator` hands out.

    Returns
    -------
    The file's URI.
    """
    content = table.to_text().encode()
    name = f"{hashlib.sha256(content).hexdigest()}{SUFFIX}"
    place = Folder.at(folder)
    uri = f"{place.uri.rstrip('/')}/{name}"
    if _is_sound(uri):
        place.touch(name)
        return uri
    if place.local is not None:
        place.local.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.local) as workshop:
        made = Path(workshop) / name
        with writing(made) as file:
            file.write(content)
        place.put(name, made)
    return uri


def open_mappings(uri: str) -> MappingChooser:
    """What chooses by the mappings of a file; a process reads each but once, and keeps a few.

    Mappings that were read are shared by all of them.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged`` or ``index.too-new``.
    """
    with _LOCK:
        found = _OPEN.get(uri)
        if found is None:
            found = _OPEN[uri] = MappingChooser(_read(uri), _CACHE)
        _OPEN.move_to_end(uri)
        if len(_OPEN) > OPEN_VERSIONS_MAX:
            _OPEN.popitem(last=False)
        return found


_LOCK = threading.Lock()
_OPEN: OrderedDict[str, MappingChooser] = OrderedDict()
_CACHE = MappingCache()


def _read(uri: str) -> MappingTable:
    folder, _, name = uri.rpartition("/")

    def verify(copy: Path) -> None:
        if f"{hashlib.sha256(copy.read_bytes()).hexdigest()}{SUFFIX}" != name:
            raise error("index.damaged", f"{uri} is not what it was")

    path = Folder.at(folder).path_of(name, verify)
    verify(path)
    return MappingTable.from_text(path.read_text("utf-8"))


def _is_sound(uri: str) -> bool:
    try:
        _read(uri)
    except IndexFileError:
        return False
    return True
