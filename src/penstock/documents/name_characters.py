"""The characters of XML names, as classes of regular expressions."""

from __future__ import annotations

from typing import Final

__all__ = ["NAME_CHAR", "NAME_START"]

NAME_START: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
"""The first character of a name, without the colon."""

NAME_CHAR: Final = NAME_START + "\\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
"""Any character of a name, without the colon."""
