"""Reads members of zip archives without expanding more than is asked for."""

from __future__ import annotations

import bz2
import copy
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Final, Protocol

COMPRESSED_CHUNK_BYTES: Final = 64 << 10
"""Compressed bytes read at a time."""

LZMA_DICTIONARY_BYTES_MIN: Final = 4096
"""The smallest dictionary that the format knows."""

_LZMA_HEADER: Final = struct.Struct("<HHBI")
"""Version; bytes of the properties; these: ``lc``, ``lp`` and ``pb`` in one, dictionary size."""

_LZMA_PROPERTIES_BYTES: Final = 5
_LZMA_CODED_MAX: Final = (4 * 5 + 4) * 9 + 8


def read_zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size_max: int) -> bytes:
    """The first ``size_max`` bytes of a member; the checksum is verified if these are all.

    Raises
    ------
    Exception
        The member is damaged: the classes of the standard library and of its decompressors.
    """
    if info.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        with archive.open(info) as member:
            return member.read(size_max)
    open_decompressor = _DECOMPRESSORS.get(info.compress_type)
    if open_decompressor is None:
        raise NotImplementedError(f"compression method {info.compress_type} is not supported")
    with archive.open(_as_stored(info)) as compressed:
        expected = min(size_max, info.file_size)
        content = _expand(open_decompressor(compressed, expected), compressed, expected)
    is_complete = len(content) < size_max or info.file_size <= size_max
    if is_complete and (len(content) != info.file_size or zlib.crc32(content) != info.CRC):
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")
    return content


class _Decompressor(Protocol):
    """What ``bz2`` and ``lzma`` have in common."""

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data was reached."""

    @property
    def needs_input(self) -> bool:
        """Whether more compressed data is needed."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Decompress at most ``max_length`` bytes; data that is left over is kept."""


def _as_stored(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """An entry with the compressed bytes of another as its content.

    ``ZipExtFile`` expands all that it has read at once for every method but deflate.
    """
    stored = copy.copy(info)
    stored.compress_type = zipfile.ZIP_STORED
    stored.file_size = info.compress_size
    del stored.CRC  # that of the expanded content; without it, none is verified
    return stored


def _expand(decompressor: _Decompressor, compressed: IO[bytes], size: int) -> bytes:
    """At most ``size`` expanded bytes, fewer if the compressed data ends before."""
    parts: list[bytes] = []
    while size and not decompressor.eof:
        data = compressed.read(COMPRESSED_CHUNK_BYTES) if decompressor.needs_input else b""
        part = decompressor.decompress(data, size)
        if not (part or data) and decompressor.needs_input:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _bzip2(_compressed: IO[bytes], _size: int) -> _Decompressor:
    return bz2.BZ2Decompressor()


def _lzma(compressed: IO[bytes], size: int) -> _Decompressor:
    """The decompressor of a member of ``size`` bytes, which needs no larger dictionary."""
    header = compressed.read(_LZMA_HEADER.size)
    if len(header) < _LZMA_HEADER.size:
        raise lzma.LZMAError("the properties are missing")
    _, length, coded, dictionary = _LZMA_HEADER.unpack(header)
    if length != _LZMA_PROPERTIES_BYTES or coded > _LZMA_CODED_MAX:
        raise lzma.LZMAError("the properties are invalid")
    filter_ = {
        "id": lzma.FILTER_LZMA1,
        "dict_size": max(LZMA_DICTIONARY_BYTES_MIN, min(dictionary, size)),
        "lc": coded % 9,
        "lp": coded // 9 % 5,
        "pb": coded // 45,
    }
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[filter_])


_DECOMPRESSORS: Final[dict[int, Callable[[IO[bytes], int], _Decompressor]]] = {
    zipfile.ZIP_BZIP2: _bzip2,
    zipfile.ZIP_LZMA: _lzma,
}
