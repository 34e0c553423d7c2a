"""Reads the members of zip, tar and gzip archives as a stream, within limits.

Zip and gzip files are recognised by their first bytes, tar files by name. Damage and exceeded
limits are reported as a member without content: matching refuses it, so it is counted.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import IO, Any, Final, NamedTuple, Self, cast

from penstock.errors import PenstockError, error
from penstock.pipeline.gzip_stream import EXEMPT_BYTES, GzipStream
from penstock.pipeline.limits import ARCHIVE_BYTES, ARCHIVE_MEMBERS, ARCHIVE_RATIO, MEMBER_BYTES

ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
GZIP: Final = b"\x1f\x8b"
TAR_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz")
ENCRYPTED_FLAG: Final = 1

ZIP_END_BYTES_MAX: Final = 22 + 0xFFFF
"""Bytes of the end-of-central-directory record of a zip file with the longest comment."""

ENTRIES_OVERFLOW: Final = 0xFFFF
"""The number of entries in that record if the actual number does not fit."""

DAMAGE_ERRORS: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""Exceptions that the standard library raises for damaged archives. ``OSError`` is not one of them:
a failed read fails the task, which Spark retries."""


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
    file = cast(IO[bytes], io.BufferedReader(_StrictSeek(file)))
    head = file.read(4)
    file.seek(0)
    if head in ZIP:
        members = _zip_members(file, size, pattern, limits)
    elif path.lower().endswith(TAR_SUFFIXES):
        members = _tar_members(file, size, pattern, limits, is_gzip=head.startswith(GZIP))
    elif head.startswith(GZIP):
        members = _gzip_member(file, path, size, limits)
    else:
        fault = error("archive.damaged", "unknown archive format")
        members = iter([Member("", 0, b"", fault)])
    for position, member in enumerate(members):
        if position == limits.members:
            message = f"the archive has more than {limits.members} members"
            yield Member("", position, b"", error("archive.members", message))
            return
        yield member._replace(position=position)


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
    source = cast(IO[bytes], stream or file)
    try:
        # Mode "r|" reads sequentially, without seeking.
        with tarfile.open(fileobj=source, mode="r|", tarinfo=_StrictInfo) as archive:
            for info in archive:
                member = archive.extractfile(info) if info.isfile() else None
                if member is not None and _matches(info.name, pattern):
                    content = member.read(limits.member_bytes + 1)
                    yield _member(info.name, content, limits)
        fault = None
    except DAMAGE_ERRORS as problem:
        fault = error("archive.damaged", f"the archive is damaged: {problem}")
    if stream is not None:
        stream.exhaust()
    fault = (stream.damage if stream else None) or fault
    if fault is not None:
        yield Member("", 0, b"", fault)


class _StrictInfo(tarfile.TarInfo):
    """Treats an invalid header as damage; the standard library takes it for the archive's end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise  # the end-of-archive marker
        except tarfile.HeaderError as problem:
            raise tarfile.ReadError(str(problem)) from problem


def _zip_members(
    file: IO[bytes], size: int, pattern: str, limits: ArchiveLimits
) -> Iterator[Member]:
    bytes_left = limits.bytes
    ratio_left = max(EXEMPT_BYTES, size * limits.ratio)
    try:
        archive = zipfile.ZipFile(file)
        declared = _declared_entries(file, size)
    except DAMAGE_ERRORS as problem:
        fault = error("archive.damaged", f"the archive is damaged: {problem}")
        yield Member("", 0, b"", fault)
        return
    for info in archive.infolist():
        if info.is_dir() or not _matches(info.filename, pattern):
            continue
        if info.flag_bits & ENCRYPTED_FLAG:
            yield Member(
                info.filename, 0, b"", error("archive.encrypted", "the member is encrypted")
            )
            continue
        try:
            with archive.open(info) as member:
                content = member.read(min(limits.member_bytes, bytes_left, ratio_left) + 1)
        except DAMAGE_ERRORS as problem:
            fault = error("archive.damaged", f"the member is damaged: {problem}")
            yield Member(info.filename, 0, b"", fault)
            continue
        bytes_left -= len(content)
        ratio_left -= len(content)
        if bytes_left < 0 or ratio_left < 0:
            yield Member("", 0, b"", _too_large(limits, by_ratio=ratio_left < 0))
            return
        yield _member(info.filename, content, limits)
    found = len(archive.infolist())
    if declared not in (found % (ENTRIES_OVERFLOW + 1), ENTRIES_OVERFLOW):
        message = f"the archive declares {declared} members but has {found}"
        yield Member("", 0, b"", error("archive.damaged", message))


def _declared_entries(file: IO[bytes], size: int) -> int:
    """The number of members that a zip file declares, which the standard library does not check."""
    file.seek(max(0, size - ZIP_END_BYTES_MAX))
    end = file.read()
    (declared,) = struct.unpack_from("<H", end, end.rindex(ZIP[1]) + 10)
    return int(declared)


class _StrictSeek(io.RawIOBase):
    """Reports a seek before the start as damage of the archive instead of an I/O error."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._file.tell()}.get(whence)
        if base is not None and base + offset < 0:
            raise ValueError("it refers to an offset before its start")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any buffer
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


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
