"""Archives: damage gives members with a fault, never content beside it, and limits hold.

The first byte selects the file name, the rest is the archive.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

from penstock.pipeline.archive_members import ArchiveLimits, read_members

DICTIONARY = None

_NAMES = ("a.zip", "a.tar", "a.tar.gz", "a.xml.gz", "a")
_LIMITS = ArchiveLimits(bytes=200_000, ratio=20, members=20, member_bytes=50_000)
_TIME = (2020, 1, 1, 0, 0, 0)
_FILES = {"a.xml": b"<a/>", "b/c.xml": b"<b>" + b"x" * 300 + b"</b>"}


def _zipped(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in _FILES.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), content, method)
    return buffer.getvalue()


def _tarred(form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content in _FILES.items():
            info = tarfile.TarInfo(name * 30 if form != tarfile.USTAR_FORMAT else name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    # Without the padding to a record, which only makes inputs longer.
    return buffer.getvalue()[: 8 * tarfile.BLOCKSIZE]


def seeds() -> list[bytes]:
    """Archives of every kind and compression."""
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    tars = [
        _tarred(form) for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
    ]
    return [
        *(b"\0" + _zipped(method) for method in methods),
        *(b"\1" + tar for tar in tars),
        *(b"\2" + gzip.compress(tar, mtime=0) for tar in tars),
        b"\3" + gzip.compress(b"<a/>", mtime=0) + gzip.compress(b"<b/>", mtime=0),
    ]


def run_input(data: bytes) -> None:
    """Read all members of an archive."""
    if not data:
        return
    name, archive = _NAMES[data[0] % len(_NAMES)], data[1:]
    total = 0
    for position, member in enumerate(
        read_members(io.BytesIO(archive), name, len(archive), "*", _LIMITS)
    ):
        assert member.position == position <= _LIMITS.members
        assert member.fault is None or member.content == b""
        assert len(member.content) <= _LIMITS.member_bytes
        total += len(member.content)
    assert total <= _LIMITS.bytes
