"""Decodes documents for display, without rejecting malformed ones."""

from __future__ import annotations

import codecs
import re

_DECLARED = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)""")


def decode_for_display(content: bytes) -> str:
    """Decodes by byte-order mark or XML declaration; undecodable bytes become U+FFFD."""
    encoding = "utf-8-sig"
    declared = _DECLARED.match(content)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif declared is not None:
        encoding = declared[1].decode()
    try:
        return content.decode(encoding, errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")
