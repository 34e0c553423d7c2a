"""The members of archives, one after the other, and never more of them than there may be.

An archive is known by how it begins, one of the kind tar by its name. What is wrong with an archive
or a member is told with a member that has no content: matched, it is refused, and so counted.
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
from penstock.pipeline.gzip_stream import FREE_BYTES, Unpacked
from penstock.pipeline.limits import ARCHIVE_BYTES, ARCHIVE_MEMBERS, ARCHIVE_RATIO, MEMBER_BYTES

ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
GZIP: Final = b"\x1f\x8b"
TAR_ENDINGS: Final = (".tar", ".tar.gz", ".tgz")
ENCRYPTED: Final = 1

ZIP_END_BYTES_MAX: Final = 22 + 0xFFFF
"""The record at the end of a zip archive, with the longest comment."""

ENTRIES_MANY: Final = 0xFFFF
"""What that record says where the number is too large for it."""

DAMAGE: Final = (
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
"""What the standard library raises at archives that are not what they say. Failures to read are not
among them: those end the task, and Spark tries again."""


class Member(NamedTuple):
    """A member of an archive."""

    name: str
    place: int
    """How many members come before it."""

    content: bytes
    fault: PenstockError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How much an archive may hold."""

    bytes: int = ARCHIVE_BYTES
    ratio: int = ARCHIVE_RATIO
    members: int = ARCHIVE_MEMBERS
    member_bytes: int = MEMBER_BYTES


def members_of(
    file: IO[bytes], path: str, size: int, pattern: str, limits: ArchiveLimits
) -> Iterator[Member]:
    """The members of the archive ``file`` whose names are like ``pattern``."""
    file = cast(IO[bytes], io.BufferedReader(_Checked(file)))
    head = file.read(4)
    file.seek(0)
    if head in ZIP:
        found = _zip_members(file, size, pattern, limits)
    elif path.lower().endswith(TAR_ENDINGS):
        found = _tar_members(file, size, pattern, limits, is_packed=head.startswith(GZIP))
    elif head.startswith(GZIP):
        found = _only_member(file, path, size, limits)
    else:
        fault = error("archive.damaged", "it is no archive that is known")
        found = iter([Member("", 0, b"", fault)])
    for place, member in enumerate(found):
        if place == limits.members:
            message = f"it has more than {limits.members} members"
            yield Member("", place, b"", error("archive.members", message))
            return
        yield member._replace(place=place)


def _only_member(file: IO[bytes], path: str, size: int, limits: ArchiveLimits) -> Iterator[Member]:
    """The document that a compressed file is."""
    name = path.rpartition("/")[2].rpartition(".")[0]
    unpacked = _unpacked(file, size, limits)
    content = unpacked.read(limits.member_bytes + 1)
    if unpacked.damage is not None:
        yield Member(name, 0, b"", unpacked.damage)
    else:
        yield _checked(name, content, limits)


def _tar_members(
    file: IO[bytes], size: int, pattern: str, limits: ArchiveLimits, *, is_packed: bool
) -> Iterator[Member]:
    unpacked = _unpacked(file, size, limits) if is_packed else None
    source = cast(IO[bytes], unpacked or file)
    try:
        # As a stream: it is not sought in, and nothing is ever written anywhere.
        with tarfile.open(fileobj=source, mode="r|", tarinfo=_StrictInfo) as archive:
            for info in archive:
                member = archive.extractfile(info) if info.isfile() else None
                if member is not None and _is_like(info.name, pattern):
                    content = member.read(limits.member_bytes + 1)
                    yield _checked(info.name, content, limits)
        fault = None
    except DAMAGE as problem:
        fault = error("archive.damaged", f"the archive is damaged: {problem}")
    if unpacked is not None:
        unpacked.exhaust()
    fault = (unpacked.damage if unpacked else None) or fault
    if fault is not None:
        yield Member("", 0, b"", fault)


class _StrictInfo(tarfile.TarInfo):
    """A header that is none is damage: the standard library takes it for the archive's end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise  # the mark of the end
        except tarfile.HeaderError as problem:
            raise tarfile.ReadError(str(problem)) from problem


def _zip_members(
    file: IO[bytes], size: int, pattern: str, limits: ArchiveLimits
) -> Iterator[Member]:
    left = limits.bytes
    ratio_left = max(FREE_BYTES, size * limits.ratio)
    try:
        archive = zipfile.ZipFile(file)
        said = _entries_said(file, size)
    except DAMAGE as problem:
        fault = error("archive.damaged", f"the archive is damaged: {problem}")
        yield Member("", 0, b"", fault)
        return
    for info in archive.infolist():
        if info.is_dir() or not _is_like(info.filename, pattern):
            continue
        if info.flag_bits & ENCRYPTED:
            yield Member(info.filename, 0, b"", error("archive.encrypted", "it is encrypted"))
            continue
        try:
            with archive.open(info) as member:
                content = member.read(min(limits.member_bytes, left, ratio_left) + 1)
        except DAMAGE as problem:
            fault = error("archive.damaged", f"the member is damaged: {problem}")
            yield Member(info.filename, 0, b"", fault)
            continue
        left -= len(content)
        ratio_left -= len(content)
        if left < 0 or ratio_left < 0:
            yield Member("", 0, b"", _exploded(limits, by_ratio=ratio_left < 0))
            return
        yield _checked(info.filename, content, limits)
    if said not in (len(archive.infolist()) % (ENTRIES_MANY + 1), ENTRIES_MANY):
        message = f"{len(archive.infolist())} members are found, and there should be {said}"
        yield Member("", 0, b"", error("archive.damaged", message))


def _entries_said(file: IO[bytes], size: int) -> int:
    """How many members the end of an archive says there are, which the library does not check."""
    file.seek(max(0, size - ZIP_END_BYTES_MAX))
    end = file.read()
    (said,) = struct.unpack_from("<H", end, end.rindex(ZIP[1]) + 10)
    return int(said)


class _Checked(io.RawIOBase):
    """A file in which a place that cannot be is the archive's fault, not the file's."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._file.tell()}.get(whence)
        if base is not None and base + offset < 0:
            raise ValueError("it points to a place before its beginning")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any buffer
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


def _exploded(limits: ArchiveLimits, *, by_ratio: bool) -> PenstockError:
    if by_ratio:
        message = f"it unpacks to more than {limits.ratio} times its size"
        return error("archive.ratio", message)
    return error("archive.bytes", f"it unpacks to more than {limits.bytes} bytes")


def _checked(name: str, content: bytes, limits: ArchiveLimits) -> Member:
    if len(content) <= limits.member_bytes:
        return Member(name, 0, content)
    message = f"the member is longer than {limits.member_bytes} bytes"
    return Member(name, 0, b"", error("archive.bytes", message))


def _is_like(name: str, pattern: str) -> bool:
    return fnmatchcase(name.rpartition("/")[2], pattern)


def _unpacked(file: IO[bytes], size: int, limits: ArchiveLimits) -> Unpacked:
    return Unpacked(file, size, bytes_max=limits.bytes, ratio_max=limits.ratio)
