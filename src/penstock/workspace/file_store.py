"""A folder of immutable files, local or at any URI that Arrow understands.

Files of a local folder are used in place. Remote files are copied once into a cache that all
processes of the machine share; a copy appears under its final name only when it is complete.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from penstock.errors import error
from penstock.workspace.atomic_files import sync_directory, temporary_path
from penstock.workspace.limits import CACHED_FILES_MAX

CACHE_VARIABLE = "PENSTOCK_CACHE"
"""Environment variable that names another cache directory."""

_CACHED_NAME = re.compile(
    r"[0-9a-f]{64}\.(arrow|index|keywords|mappings|routers|subscriptions|interest)"
)
"""Names of the files that the cache holds: a digest and a suffix. Others are not Penstock's."""


@dataclass(frozen=True, slots=True)
class FileStore:
    """A folder whose files never change once written."""

    uri: str
    local: Path | None
    """The folder's path if it is on a local file system."""
    _remote: tuple[fs.FileSystem, str] | None = None

    @classmethod
    def at(cls, uri: str) -> FileStore:
        """The store at a path or URI."""
        parts = urlsplit(uri)
        if len(parts.scheme) <= 1:  # a Windows drive letter is not a scheme
            # Absolute, because readers may have another working directory.
            path = Path(uri).absolute()
            return cls(str(path), path)
        if parts.scheme == "file":
            return cls(uri, Path(unquote(parts.path)))
        return cls(uri, None, resolve_uri(uri))

    def has(self, name: str) -> bool:
        """Whether a file exists."""
        if self.local is not None:
            return (self.local / name).is_file()
        system, path = self._remote_path(name)
        return system.get_file_info(path).type == fs.FileType.File

    def put(self, name: str, source: Path) -> None:
        """Atomically add a local file that is already synced to disk.

        A local store moves the file, which must be on the same file system. An existing file of
        that name is replaced: it has the same content, or is damaged.
        """
        if self.local is not None:
            source.replace(self.local / name)
            sync_directory(self.local)
            return
        system, path = self._remote_path(name)
        system.create_dir(path.rpartition("/")[0], recursive=True)
        temporary = str(temporary_path(Path(path)))
        with source.open("rb") as file, system.open_output_stream(temporary) as target:
            shutil.copyfileobj(file, target)
        try:
            system.move(temporary, path)
        except OSError:
            # Some file systems do not replace on move.
            if not self.has(name):
                raise
            system.delete_file(path)
            system.move(temporary, path)

    def touch(self, name: str) -> None:
        """Mark a local file as in use, so that retention keeps it."""
        if self.local is not None:
            (self.local / name).touch()

    def local_path(self, name: str, verify: Callable[[Path], None]) -> Path:
        """The local path of a file, which is copied into the cache first if the store is remote.

        ``verify`` is called with a new copy and raises if it is damaged.

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
        path = cache_directory() / name
        if _last_used(path) is not None:
            os.utime(path, follow_symlinks=False)
            return path
        self._copy(name, path, verify)
        _evict_least_recently_used(path.parent)
        return path

    def evict(self, name: str) -> None:
        """Remove a file's copy from the cache."""
        if self.local is None:
            (cache_directory() / name).unlink(missing_ok=True)

    def _copy(self, name: str, path: Path, verify: Callable[[Path], None]) -> None:
        system, source = self._remote_path(name)
        try:
            stream = system.open_input_stream(source)
        except FileNotFoundError as absent:
            raise _missing(f"{self.uri}/{name}") from absent
        temporary = temporary_path(path)
        try:
            with stream, temporary.open("xb") as target:
                shutil.copyfileobj(stream, target)
            verify(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _remote_path(self, name: str) -> tuple[fs.FileSystem, str]:
        assert self._remote is not None
        system, path = self._remote
        return system, f"{path.rstrip('/')}/{name}"


def resolve_uri(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it."""
    return fs.FileSystem.from_uri(uri)


def cache_directory() -> Path:
    """The directory of cached copies: ``$PENSTOCK_CACHE``, or a temporary directory of the user."""
    configured = os.environ.get(CACHE_VARIABLE)
    if configured:
        directory = Path(configured)
    else:
        directory = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Another user could plant files in a directory of theirs, or a link in the temporary directory.
    owner = directory.stat() if configured else directory.lstat()
    if owner.st_uid != os.getuid() or not stat.S_ISDIR(owner.st_mode):
        raise PermissionError(1, "the cache is not a directory of this user", str(directory))
    return directory


def _evict_least_recently_used(directory: Path) -> None:
    """Enforce the limit of the cache. A removed file stays readable where it is mapped.

    The user may have chosen a directory that also holds other files, which are left alone.
    """
    last_used = {
        path: used
        for path in directory.iterdir()
        if _CACHED_NAME.fullmatch(path.name) and (used := _last_used(path)) is not None
    }
    files = sorted(last_used, key=lambda path: last_used[path], reverse=True)
    for path in files[CACHED_FILES_MAX:]:
        path.unlink(missing_ok=True)


def _last_used(path: Path) -> float | None:
    """When a cached file was last used; ``None`` if there is no regular file of that name."""
    try:
        found = path.lstat()
    except FileNotFoundError:  # not copied yet, or evicted by another process
        return None
    return found.st_mtime if stat.S_ISREG(found.st_mode) else None


def _missing(uri: str) -> Exception:
    return error("index.missing", f"{uri} does not exist")
