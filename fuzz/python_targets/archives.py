"""Archives: damage gives members with a fault, never content beside it, and limits hold, also in
memory.

The first byte selects the file name, the rest is the archive.
"""

from __future__ import annotations

import gzip
import io
import resource
import sys
import tarfile
import zipfile

from penstock.pipeline.archive_members import ArchiveLimits, read_members

DICTIONARY = None

_NAMES = ("a.zip", "a.tar", "a.tar.gz", "a.xml.gz", "a")
_LIMITS = ArchiveLimits(bytes=200_000, ratio=20, members=20, member_bytes=50_000)
_MEMORY_BYTES_MAX = 64 << 20
"""Memory by which one input may exceed all before it; more is a finding, unlike the limit of the
campaign, which is that of the whole process."""

_CLAIMED_BYTES = 250 << 20
"""Bytes to which the sparse members claim to expand."""

_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024
"""The unit of ``ru_maxrss``."""

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


def _sparse_gnu(offset: int) -> bytes:
    header = bytearray(tarfile.TarInfo("s.xml").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:410] = b"%011o\0%011o\0" % (offset, _CLAIMED_BYTES)
    header[483:495] = b"%011o\0" % _CLAIMED_BYTES
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(2 * tarfile.BLOCKSIZE)


def _sparse_pax(content: bytes = b"", **properties: str) -> bytes:
    info = tarfile.TarInfo("s.xml")
    info.size = len(content)
    info.pax_headers = {f"GNU.sparse.{name}": value for name, value in properties.items()}
    return info.tobuf(tarfile.PAX_FORMAT) + content + bytes(2 * tarfile.BLOCKSIZE)


def _sparse_tars() -> list[bytes]:
    size = str(_CLAIMED_BYTES)
    block = f"1\n{size}\n{size}\n".encode().ljust(tarfile.BLOCKSIZE, b"\0")
    return [
        _sparse_gnu(0),
        _sparse_gnu(_CLAIMED_BYTES),
        _sparse_pax(size=size, offset=size, numbytes=size),
        _sparse_pax(size=size, realsize=size, map=f"{size},{size}"),
        _sparse_pax(block, major="1", minor="0", realsize=size),
    ]


def _zip_bomb(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo("a.xml", _TIME), bytes(100 << 20), method)
    return buffer.getvalue()


def seeds() -> list[bytes]:
    """Archives of every kind and compression, and some that claim to be large."""
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    forms = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
    tars = [*map(_tarred, forms), *_sparse_tars()]
    return [
        *(b"\0" + _zipped(method) for method in methods),
        *(b"\0" + _zip_bomb(method) for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)),
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
    peak = _peak_bytes()
    for position, member in enumerate(
        read_members(io.BytesIO(archive), name, len(archive), "*", _LIMITS)
    ):
        assert member.position == position <= _LIMITS.members
        assert member.fault is None or member.content == b""
        assert len(member.content) <= _LIMITS.member_bytes
        total += len(member.content)
    assert total <= _LIMITS.bytes
    assert _peak_bytes() - peak <= _MEMORY_BYTES_MAX


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT_BYTES
