"""The decoded text of a document, with byte offsets of its characters."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from itertools import accumulate

from penstock.documents.events import Span
from penstock.errors import Where, error

__all__ = ["OriginalText", "original_text"]

MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
    (b"\0<\0?", "utf-16be"),
    (b"<\0?\0", "utf-16le"),
)
"""First bytes by encoding; the last two are not byte order marks and remain in the text."""

DECLARED = re.compile(rb"""<\?xml(?=\s)[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")


@dataclass(frozen=True, slots=True)
class OriginalText:
    """The text of a document with the byte offset of each character."""

    text: str
    encoding: str
    offsets: list[int]
    """One offset per character, and the end."""

    def span(self, start: int, end: int) -> Span:
        """The bytes of ``text[start:end]``."""
        return Span(self.offsets[start], self.offsets[end])

    def where(self, at: int) -> Where:
        """The position of ``text[at]``."""
        lines = re.split(r"\r\n?|\n", self.text[:at])
        return Where(self.offsets[at], len(lines), len(lines[-1]) + 1)


def original_text(content: bytes) -> OriginalText:
    """Decode a document."""
    encoding, mark = _encoding(content)
    try:
        text = content[mark:].decode(encoding)
    except UnicodeDecodeError as problem:
        message = "the bytes are not valid in the document's encoding"
        raise error("encoding.bytes", message, Where(mark + problem.start, 1, 1)) from None
    if mark or encoding.startswith("utf-16"):
        _check_declared(text, encoding, mark)
    widths = (len(character.encode(encoding)) for character in text)
    return OriginalText(text, encoding, list(accumulate(widths, initial=mark)))


def _check_declared(text: str, encoding: str, mark: int) -> None:
    """Checks that the declared encoding agrees with the first bytes."""
    declared = DECLARED.match(text.encode())
    if declared is None:
        if not mark:
            message = "the document is in UTF-16 but does not declare it"
            raise error("encoding.mismatch", message, Where(0, 1, 1))
        return
    label = declared[1].decode()
    fitting = {"utf-8", "utf8"} if encoding == "utf-8" else {"utf-16", "iso-10646-ucs-2", encoding}
    if not mark:
        fitting |= {"utf-16le", "utf-16be"}
    if label.lower() not in fitting:
        message = f'the document declares the encoding "{label}" but uses another'
        raise error("encoding.mismatch", message, Where(mark, 1, 1))


def _encoding(content: bytes) -> tuple[str, int]:
    """The encoding, as the native core names it, and the length of the byte order mark."""
    for start, encoding in MARKS:
        if content.startswith(start):
            return encoding, 0 if b"<" in start else len(start)
    declared = DECLARED.match(content)
    if declared is None:
        return "utf-8", 0
    label = declared[1].decode()
    try:
        name = codecs.lookup(label).name
    except LookupError:
        message = f"the encoding {label} is not known"
        raise error("encoding.unknown", message, Where(0, 1, 1)) from None
    return {"ascii": "us-ascii", "iso8859-1": "iso-8859-1"}.get(name, name), 0
