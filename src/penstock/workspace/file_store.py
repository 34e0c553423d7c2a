"""A folder of immutable files, here or at any URI that Arrow understands.

Files of a folder on this machine are used where they are. Others are copied once into a cache of
this machine, which its processes share: a copy appears under its name once it is whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from penstock.errors import error
from penstock.workspace.atomic_files import TEMPORARY, beside_of, sync_folder
from penstock.workspace.limits import CACHED_FILES_MAX

CACHE_VARIABLE = "PENSTOCK_CACHE"
"""The environment variable that names another folder for copies."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A place of files that never change."""

    uri: str
    local: Path | None
    """Where it is on this machine, if it is here."""
    _remote: tuple[fs.FileSystem, str] | None = None

    @classmethod
    def at(cls, uri: str) -> Folder:
        """The folder at a path or a URI."""
        parts = urlsplit(uri)
        if len(parts.scheme) <= 1:  # a drive's letter is no scheme
            # Those who read from it may be at work in another folder.
            path = Path(uri).absolute()
            return cls(str(path), path)
        if parts.scheme == "file":
            return cls(uri, Path(unquote(parts.path)))
        return cls(uri, None, locate(uri))

    def has(self, name: str) -> bool:
        """Whether a file of that name is there."""
        if self.local is not None:
            return (self.local / name).is_file()
        system, path = self._place(name)
        return system.get_file_info(path).type == fs.FileType.File

    def put(self, name: str, source: Path) -> None:
        """Bring a synchronised file of this machine there, whole or not at all.

        A folder of this machine takes the file itself, which must be on the same disk. One that
        has the name already is replaced: it is the same, or was damaged.
        """
        if self.local is not None:
            source.replace(self.local / name)
            sync_folder(self.local)
            return
        system, path = self._place(name)
        system.create_dir(path.rpartition("/")[0], recursive=True)
        beside = str(beside_of(Path(path)))
        with source.open("rb") as file, system.open_output_stream(beside) as target:
            shutil.copyfileobj(file, target)
        try:
            system.move(beside, path)
        except OSError:
            # Some storages refuse to replace.
            if not self.has(name):
                raise
            system.delete_file(path)
            system.move(beside, path)

    def touch(self, name: str) -> None:
        """Note that a file is in use, for whoever removes old ones."""
        if self.local is not None:
            (self.local / name).touch()

    def path_of(self, name: str, verify: Callable[[Path], None]) -> Path:
        """Where this machine can map the file; ``verify`` raises where a new copy is not sound.

        Raises
        ------
        IndexFileError
            ``index.missing``: there is no such file.
        """
        if self.local is not None:
            path = self.local / name
            if not path.is_file():
                raise _missing(f"{self.uri}/{name}")
            return path
        path = cache_folder() / name
        if path.exists():
            path.touch()
            return path
        self._copy(name, path, verify)
        _forget_the_oldest(path.parent)
        return path

    def forget(self, name: str) -> None:
        """Copy the file anew when it is next asked for."""
        if self.local is None:
            (cache_folder() / name).unlink(missing_ok=True)

    def _copy(self, name: str, path: Path, verify: Callable[[Path], None]) -> None:
        system, source = self._place(name)
        try:
            stream = system.open_input_stream(source)
        except FileNotFoundError as absent:
            raise _missing(f"{self.uri}/{name}") from absent
        beside = beside_of(path)
        try:
            with stream, beside.open("xb") as target:
                shutil.copyfileobj(stream, target)
            verify(beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)

    def _place(self, name: str) -> tuple[fs.FileSystem, str]:
        assert self._remote is not None
        system, path = self._remote
        return system, f"{path.rstrip('/')}/{name}"


def locate(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it."""
    return fs.FileSystem.from_uri(uri)


def cache_folder() -> Path:
    """Where copies are kept: ``$PENSTOCK_CACHE``, or a temporary folder of this user's."""
    given = os.environ.get(CACHE_VARIABLE)
    folder = Path(given) if given else Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        # Else another user of the machine could put files of his own in our way.
        raise PermissionError(1, "the cache belongs to another user", str(folder))
    return folder


def _forget_the_oldest(folder: Path) -> None:
    """Keep the cache within its limit; a file that someone has mapped stays readable for him."""
    files = [path for path in folder.iterdir() if not path.name.endswith(TEMPORARY)]
    files.sort(key=_last_used, reverse=True)
    for path in files[CACHED_FILES_MAX:]:
        path.unlink(missing_ok=True)


def _last_used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process was quicker to remove it
        return 0.0


def _missing(uri: str) -> Exception:
    return error("index.missing", f"{uri} is not there")
