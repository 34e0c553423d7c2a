"""Decodes DTD files by byte order mark, declaration, or else as UTF-8."""

from __future__ import annotations

import codecs
import re

from penstock.errors import Where, error

_DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_CODECS = {
    "utf-8": "utf-8",
    "us-ascii": "ascii",
    "iso-8859-1": "latin-1",
    "utf-16": "utf-16",
}
"""The supported encodings: those that the document reader decodes exactly."""


def decode_dtd(data: bytes) -> str:
    """Decode a DTD; raises :class:`~penstock.errors.SchemaError` for an unsupported encoding."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16"
    elif data.startswith(codecs.BOM_UTF8):
        codec = "utf-8-sig"
    else:
        declared = _DECLARED.match(data)
        encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
        if encoding not in _CODECS:
            raise error(
                "schema.encoding",
                f"the encoding {encoding!r} is not supported in DTDs",
                Where(0, 1, 1),
            )
        codec = _CODECS[encoding]
    try:
        return data.decode(codec)
    except UnicodeDecodeError as failure:
        before = data[: failure.start]
        line = before.count(b"\n") + 1
        column = failure.start - (before.rfind(b"\n") + 1) + 1
        raise error(
            "schema.encoding",
            f"the DTD is not valid {codec}",
            Where(failure.start, line, column),
        ) from failure
