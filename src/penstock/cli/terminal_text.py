"""Makes text from outside safe to print on a terminal.

File names, header fields, fragments and ids may contain control sequences, which a terminal would
execute, and characters that reorder a line. They are printed as visible escapes.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 except tab and line feed, DEL, C1, bidirectional controls, and surrogates (undecodable bytes
of file names)."""


def visible(text: str) -> str:
    r"""Replaces control, bidirectional and surrogate characters by visible escapes.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return _UNSAFE.sub(_escape, text)


def visible_json(text: str) -> str:
    r"""Escapes in JSON text what :func:`json.dumps` does not: DEL, C1, bidirectional, surrogates.

    >>> visible_json('"\x9b"')
    '"\\u009b"'
    """
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
