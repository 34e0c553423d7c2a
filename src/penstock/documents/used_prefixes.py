"""The namespace prefixes that a part of a document uses."""

from __future__ import annotations

import re
from typing import Final

from penstock.documents.name_characters import NAME_CHAR

__all__ = ["used_prefixes"]

# Each name is matched once and completely, so that the time is linear.
_NAME: Final = re.compile(f"(?P<declared>xmlns:)?(?P<name>[{NAME_CHAR}]++)(?P<colon>:?)")


def used_prefixes(text: str) -> set[str]:
    """Each name before a colon, and each declared prefix.

    Names in values and text count too: ``xsi:type="xs:int"`` uses ``xs``. The native core finds the
    same prefixes.

    >>> sorted(used_prefixes('<p:a xmlns:q="u" t="xs:int"/>'))
    ['p', 'q', 'xmlns', 'xs']
    """
    found = {"xmlns"} if "xmlns:" in text else set()
    found.update(
        match["name"] for match in _NAME.finditer(text) if match["declared"] or match["colon"]
    )
    return found
