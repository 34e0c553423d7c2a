"""Reads the members of zip, tar and gzip archives as a stream, within limits.

Zip and gzip files are recognised by their first bytes, tar files by name. Damage and exceeded
limits are reported as a member without content: matching refuses it, so it is counted. Only a
failure of the storage raises an exception: it fails the task, which Spark retries.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import IO, Any, Final, NamedTuple, cast

from penstock.errors import PenstockError, error
from penstock.pipeline.archive_tar import TarStream
from penstock.pipeline.archive_zip import read_zip_member
from penstock.pipeline.gzip_stream import EXEMPT_BYTES, GzipStream
from penstock.pipeline.limits import (
    ARCHIVE_BYTES,
    ARCHIVE_MEMBERS,
    ARCHIVE_RATIO,
    MEMBER_BYTES,
)

ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
GZIP: Final = b"\x1f\x8b"
TAR_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz")
ENCRYPTED_FLAG: Final = 1

ZIP_END_BYTES_MAX: Final = 22 + 0xFFFF
"""Bytes of the end-of-central-directory record of a zip file with the longest comment."""

ENTRIES_OVERFLOW: Final = 0xFFFF
"""The number of entries in that record if the actual number does not fit."""

ZIP_ENTRY: Final = b"PK\x01\x02"
ZIP_ENTRY_BYTES_MIN: Final = 46
"""Bytes of an entry of a zip file's central directory without its name."""

ENTRIES_LOADED_MIN: Final = 10_000
"""Entries of a zip file's directory that are loaded even if the limit of members is lower."""

CHUNK_BYTES: Final = 1 << 20


class _StorageError(Exception):
    """The archive could not be read from storage.

    Every other exception is caused by the archive: the standard library has no common class for
    them. A damaged bzip2 member, for example, raises ``OSError``.
    """

    def __init__(self, original: OSError) -> None:
        super().__init__(str(original))
        self.original = original


class Member(NamedTuple):
    """A member of an archive."""

    name: str
    position: int
    """Its index in the archive."""

    content: bytes
    fault: PenstockError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """The limits of an archive."""

    bytes: int = ARCHIVE_BYTES
    ratio: int = ARCHIVE_RATIO
    members: int = ARCHIVE_MEMBERS
    member_bytes: int = MEMBER_BYTES


def read_members(
    file: IO[bytes], path: str, size: int, pattern: str, limits: ArchiveLimits
) -> Iterator[Member]:
    """The members of an archive whose names match the glob ``pattern``."""
    try:
        members = _read_members(file, path, size, pattern, limits)
        for position, member in enumerate(members):
            if position == limits.members:
                yield Member("", position, b"", _too_many(limits))
                return
            # Names may contain lone surrogates, for bytes that could not be decoded.
            name = member.name.encode(errors="replace").decode()
            yield member._replace(name=name, position=position)
    except _StorageError as failure:
        raise failure.original from None


def _read_members(
    source: IO[bytes], path: str, size: int, pattern: str, limits: ArchiveLimits
) -> Iterator[Member]:
    file = cast(IO[bytes], io.BufferedReader(_StoredFile(source, size)))
    head = file.read(4)
    file.seek(0)
    if head in ZIP:
        yield from _zip_members(file, size, pattern, limits)
    elif path.lower().endswith(TAR_SUFFIXES):
        yield from _tar_members(file, size, pattern, limits, is_gzip=head.startswith(GZIP))
    elif head.startswith(GZIP):
        yield from _gzip_member(file, path, size, limits)
    else:
        yield Member("", 0, b"", error("archive.damaged", "unknown archive format"))


def _gzip_member(file: IO[bytes], path: str, size: int, limits: ArchiveLimits) -> Iterator[Member]:
    """The content of a gzip file, as the only member."""
    name = path.rpartition("/")[2].rpartition(".")[0]
    stream = _gzip_stream(file, size, limits)
    content = stream.read(limits.member_bytes + 1)
    if stream.damage is not None:
        yield Member(name, 0, b"", stream.damage)
    else:
        yield _member(name, content, limits)


def _tar_members(
    file: IO[bytes], size: int, pattern: str, limits: ArchiveLimits, *, is_gzip: bool
) -> Iterator[Member]:
    stream = _gzip_stream(file, size, limits) if is_gzip else None
    fault: PenstockError | None = None
    bytes_left = limits.bytes
    try:
        archive = TarStream(cast(IO[bytes], stream or file))
        for count, info in enumerate(archive.members()):
            if count == limits.members:
                fault = _too_many(limits)
                break
            if not info.is_file or not _matches(info.name, pattern):
                continue
            if info.is_sparse:
                message = "the member is a sparse file"
                yield Member(info.name, 0, b"", error("archive.sparse", message))
                continue
            content = archive.read(min(limits.member_bytes, bytes_left) + 1)
            bytes_left -= len(content)
            if bytes_left < 0:
                fault = _too_large(limits, by_ratio=False)
                break
            yield _member(info.name, content, limits)
    except _StorageError:
        raise
    except Exception as problem:
        fault = _damage("the archive", problem)
    if stream is not None:
        stream.exhaust()
    fault = (stream.damage if stream else None) or fault
    if fault is not None:
        yield Member("", 0, b"", fault)


def _zip_members(
    file: IO[bytes], size: int, pattern: str, limits: ArchiveLimits
) -> Iterator[Member]:
    bytes_left = limits.bytes
    ratio_left = max(EXEMPT_BYTES, size * limits.ratio)
    try:
        directory = _zip_directory(file, size)
        if _has_more_entries(file, size, directory, limits.members):
            yield Member("", 0, b"", _too_many(limits))
            return
        archive = zipfile.ZipFile(file)
    except _StorageError:
        raise
    except Exception as problem:
        yield Member("", 0, b"", _damage("the archive", problem))
        return
    for info in archive.infolist():
        if not info.filename:
            yield Member("", 0, b"", error("archive.damaged", "the member has no name"))
            continue
        if info.is_dir() or not _matches(info.filename, pattern):
            continue
        if info.flag_bits & ENCRYPTED_FLAG:
            yield Member(
                info.filename, 0, b"", error("archive.encrypted", "the member is encrypted")
            )
            continue
        try:
            size_max = min(limits.member_bytes, bytes_left, ratio_left) + 1
            content = read_zip_member(archive, info, size_max)
        except _StorageError:
            raise
        except Exception as problem:
            yield Member(info.filename, 0, b"", _damage("the member", problem))
            continue
        bytes_left -= len(content)
        ratio_left -= len(content)
        if bytes_left < 0 or ratio_left < 0:
            yield Member("", 0, b"", _too_large(limits, by_ratio=ratio_left < 0))
            return
        yield _member(info.filename, content, limits)
    found = len(archive.infolist())
    if directory.entries not in (found % (ENTRIES_OVERFLOW + 1), ENTRIES_OVERFLOW):
        message = f"the archive declares {directory.entries} members but has {found}"
        yield Member("", 0, b"", error("archive.damaged", message))


class _ZipDirectory(NamedTuple):
    """The end-of-central-directory record of a zip file."""

    entries: int
    """The declared number of members, which the standard library does not check."""

    bytes: int


def _zip_directory(file: IO[bytes], size: int) -> _ZipDirectory:
    file.seek(max(0, size - ZIP_END_BYTES_MAX))
    end = file.read()
    entries, length = struct.unpack_from("<HI", end, end.rindex(ZIP[1]) + 10)
    return _ZipDirectory(entries, length)


def _has_more_entries(
    file: IO[bytes], size: int, directory: _ZipDirectory, entries_max: int
) -> bool:
    """Whether a zip file may have more members than the limit.

    The standard library loads the whole directory and needs about a kilobyte for each entry, so
    the entries of a long one are counted before that.
    """
    entries_max = max(entries_max, ENTRIES_LOADED_MIN)
    if min(size, directory.bytes) // ZIP_ENTRY_BYTES_MIN <= entries_max:
        return False
    found = 0
    before = b""
    file.seek(max(0, size - ZIP_END_BYTES_MAX - directory.bytes))
    while found <= entries_max and (chunk := file.read(CHUNK_BYTES)):
        found += (before + chunk).count(ZIP_ENTRY)
        before = chunk[-len(ZIP_ENTRY) + 1 :]
    return found > entries_max


class _StoredFile(io.RawIOBase):
    """Distinguishes failures of the storage from damage of the archive.

    A seek outside the file is damage, although some file systems report it as an I/O error.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._size = size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._size}[whence]
        if not 0 <= base + offset <= self._size:
            raise ValueError("it refers to an offset outside of it")
        try:
            return self._file.seek(base + offset)
        except OSError as failure:
            raise _StorageError(failure) from failure

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any buffer
        try:
            content = self._file.read(len(buffer))
        except OSError as failure:
            raise _StorageError(failure) from failure
        buffer[: len(content)] = content
        return len(content)


def _damage(what: str, problem: Exception) -> PenstockError:
    reason = str(problem) or type(problem).__name__
    return error("archive.damaged", f"{what} is damaged: {reason}")


def _too_many(limits: ArchiveLimits) -> PenstockError:
    return error("archive.members", f"the archive has more than {limits.members} members")


def _too_large(limits: ArchiveLimits, *, by_ratio: bool) -> PenstockError:
    if by_ratio:
        message = f"it expands to more than {limits.ratio} times its size"
        return error("archive.ratio", message)
    return error("archive.bytes", f"it expands to more than {limits.bytes} bytes")


def _member(name: str, content: bytes, limits: ArchiveLimits) -> Member:
    if len(content) <= limits.member_bytes:
        return Member(name, 0, content)
    message = f"the member is longer than {limits.member_bytes} bytes"
    return Member(name, 0, b"", error("archive.bytes", message))


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name.rpartition("/")[2], pattern)


def _gzip_stream(file: IO[bytes], size: int, limits: ArchiveLimits) -> GzipStream:
    return GzipStream(file, size, bytes_max=limits.bytes, ratio_max=limits.ratio)
