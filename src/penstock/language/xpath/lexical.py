"""Patterns of names, numbers and white space."""

from __future__ import annotations

import re
from typing import Final

# XML 1.0, fifth edition, productions 4 and 4a, without the colon.
_NAME_START: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_MORE: Final = "\\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"

NCNAME: Final = re.compile(f"[{_NAME_START}][{_NAME_START}{_NAME_MORE}]*")
"""A name without a colon."""

QNAME: Final = re.compile(f"{NCNAME.pattern}(?::{NCNAME.pattern})?")
"""A name with or without a prefix."""

NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
"""A number in XPath 1.0 syntax: no sign, no exponent."""

WHITE_SPACE: Final = re.compile("[ \t\r\n]*")
"""White space between tokens."""

NOT_A_CHARACTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow, so that they never occur in documents."""
