"""Reads a tar archive as a stream, in memory that does not depend on what its headers claim.

The reader of the standard library expands sparse members, whose maps are neither limited nor
checked, and parses extended headers in quadratic time. Documents need only the names and contents
of regular files, so this reader knows ustar, GNU's long names and the properties of pax headers
that change a name or a size. It never expands a sparse member.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from typing import IO, Final, NamedTuple

from penstock.pipeline.limits import TAR_HEADER_BYTES_MAX

BLOCK: Final = tarfile.BLOCKSIZE
CHUNK_BYTES: Final = 1 << 20

_NAME: Final = slice(0, 100)
_SIZE: Final = slice(124, 136)
_CHECKSUM: Final = slice(148, 156)
_TYPE: Final = slice(156, 157)
_PREFIX: Final = slice(345, 500)
_IS_EXTENDED: Final = 482
"""Whether a block with more of the map follows the header of a sparse member."""
_IS_EXTENDED_AGAIN: Final = 504
"""The same in such a block."""

_BASE_256: Final = 0x80
"""The first byte of a number that is not written in octal digits."""

_PAX_HEADERS: Final = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE)
_EXTENSIONS: Final = (*_PAX_HEADERS, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
"""Types of headers whose content describes the next member; it is read completely."""

_PAX_NAME: Final = "path"
_PAX_SIZE: Final = "size"
_PAX_SPARSE: Final = "GNU.sparse."
_PAX_SPARSE_NAME: Final = "GNU.sparse.name"


class TarDamageError(Exception):
    """The archive is damaged."""


class TarMember(NamedTuple):
    """A member of a tar archive."""

    name: str
    is_file: bool
    """Whether it is a regular file."""

    is_sparse: bool
    """Whether its data is not its content, but has to be expanded by a map."""

    size: int
    """Bytes of its data in the archive."""


class TarStream:
    """The members of a tar archive, in order. Needs a file that supports sequential reads."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._global: dict[str, str] = {}
        self._left = 0
        """Bytes of the current member that are not read yet."""
        self._padding = 0

    def members(self) -> Iterator[TarMember]:
        """The members up to the end-of-archive marker.

        Raises
        ------
        TarDamageError
            The archive is damaged or ends without that marker.
        """
        properties: dict[str, str] = {}
        while any(header := self._header()):
            kind, size = header[_TYPE], _number(header[_SIZE])
            if kind not in _EXTENSIONS:
                yield self._member(header, size, {**self._global, **properties})
                self._skip(self._left + self._padding)
                properties = {}
                continue
            if size > TAR_HEADER_BYTES_MAX:
                raise TarDamageError(f"a header is longer than {TAR_HEADER_BYTES_MAX} bytes")
            content = self._exactly(size)
            self._skip(-size % BLOCK)
            if kind == tarfile.XGLTYPE:
                self._global |= _pax_properties(content)
            elif kind in _PAX_HEADERS:
                properties |= _pax_properties(content)
            elif kind == tarfile.GNUTYPE_LONGNAME:
                properties[_PAX_NAME] = _text(content)

    def read(self, size: int) -> bytes:
        """Read the next bytes of the current member's data: ``size``, fewer only at its end."""
        content = self._exactly(min(size, self._left))
        self._left -= len(content)
        return content

    def _member(self, header: bytes, size: int, properties: Mapping[str, str]) -> TarMember:
        kind = header[_TYPE]
        name = _text(header[_NAME])
        if (prefix := _text(header[_PREFIX])) and kind not in tarfile.GNU_TYPES:
            name = f"{prefix}/{name}"
        name = properties.get(_PAX_SPARSE_NAME) or properties.get(_PAX_NAME) or name
        size = _digits(properties[_PAX_SIZE]) if _PAX_SIZE in properties else size
        is_sparse = any(key.startswith(_PAX_SPARSE) for key in properties)
        if kind == tarfile.GNUTYPE_SPARSE:
            is_sparse = True
            is_extended = header[_IS_EXTENDED]
            while is_extended:
                is_extended = self._exactly(BLOCK)[_IS_EXTENDED_AGAIN]
        # The first tar programs wrote a folder as a file whose name ends with a slash.
        is_folder = kind == tarfile.AREGTYPE and name.endswith("/")
        is_file = kind in tarfile.REGULAR_TYPES and not is_folder
        has_data = is_file or kind not in tarfile.SUPPORTED_TYPES
        self._left = size if has_data else 0
        self._padding = -self._left % BLOCK
        return TarMember(name, is_file, is_sparse, self._left)

    def _header(self) -> bytes:
        header = self._exactly(BLOCK)
        given = header[_CHECKSUM]
        unsigned = sum(header) - sum(given) + len(given) * ord(" ")
        # Some programs added the bytes as signed numbers.
        signed = unsigned - 256 * sum(
            byte > 127 for byte in header[: _CHECKSUM.start] + header[_CHECKSUM.stop :]
        )
        if any(header) and _number(given) not in (unsigned, signed):
            raise TarDamageError("a header has a wrong checksum")
        return header

    def _exactly(self, size: int) -> bytes:
        content = self._file.read(size)
        if len(content) < size:
            raise TarDamageError("it ends unexpectedly")
        return content

    def _skip(self, size: int) -> None:
        self._left = self._padding = 0
        while size > 0:
            size -= len(self._exactly(min(size, CHUNK_BYTES)))


def _pax_properties(content: bytes) -> dict[str, str]:
    """The properties in a pax header that change how the next member is read.

    A property is ``LENGTH KEY=VALUE\\n``, where the length includes all of this.
    """
    found = {}
    start = 0
    while start < len(content) and content[start]:
        space = content.find(b" ", start, start + len(str(TAR_HEADER_BYTES_MAX)) + 1)
        end = start + _digits(_text(content[start : max(start, space)]))
        equals = content.find(b"=", space, end)
        if not start < space < equals < end <= len(content) or content[end - 1 : end] != b"\n":
            raise TarDamageError("an extended header is invalid")
        key = _text(content[space + 1 : equals])
        if key in {_PAX_NAME, _PAX_SIZE} or key.startswith(_PAX_SPARSE):
            is_kept = key in {_PAX_NAME, _PAX_SIZE, _PAX_SPARSE_NAME}
            # Of a map, it matters only that there is one.
            found[key if is_kept else _PAX_SPARSE] = (
                _text(content[equals + 1 : end - 1]) if is_kept else ""
            )
        start = end
    return found


def _number(field: bytes) -> int:
    """The value of a number in a header: octal digits, or in base 256 after a first byte."""
    if field[0] == _BASE_256:
        return int.from_bytes(field[1:])
    if field[0] > _BASE_256:
        raise TarDamageError("a header has a negative number")
    digits = field.partition(b"\0")[0].strip()
    if digits.strip(b"01234567"):
        raise TarDamageError("a header has an invalid number")
    return int(digits or b"0", 8)


def _digits(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise TarDamageError("an extended header has an invalid number")
    return int(text)


def _text(field: bytes) -> str:
    """A name, up to the first NUL. Bytes that cannot be decoded become lone surrogates."""
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")
