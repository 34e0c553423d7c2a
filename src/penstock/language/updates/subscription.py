"""Subscriptions of clients: XPath queries, whose method invocations are ignored.

``//Item/Price!max()`` depends on all prices, so a client with this subscription caches
``//Item/Price``. What a method is compared with is ignored, too: ``//Item[Price!count() = 2]`` is
``//Item[Price]``, since the number of prices is no price.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from penstock.language.xpath.ast import Query
from penstock.language.xpath.parsing import parse

_METHOD: Final = r"\s*!\s*[A-Za-z_][\w.-]*\s*\(\s*\)"
_STRING: Final = "\"[^\"]*\"|'[^']*'"
_LITERAL: Final = rf"(?:{_STRING}|-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
_OPERATOR: Final = r"\s*(?:!=|<=|>=|=|<|>)\s*"
_METHODS: Final = re.compile(
    rf"(?<![\w.-]){_LITERAL}{_OPERATOR}(?P<path>[^][!|=<>'\"]+)(?:{_METHOD})+"
    rf"|(?P<string>{_STRING})"
    rf"|(?:{_METHOD})+(?:{_OPERATOR}{_LITERAL})?"
)
"""Strings are matched as a whole, because they may contain what looks like a method."""


def without_methods(text: str) -> str:
    """A subscription without its method invocations, and what their results are compared with.

    Spaces take their place, so that positions in the text stay the same.

    Examples
    --------
    >>> from penstock.language.updates import without_methods
    >>> without_methods("//Item/Price!max()")
    '//Item/Price'
    >>> without_methods("//Item[Price!count() > 1] | //Offer!count()")
    '//Item[Price            ] | //Offer'
    """
    return _METHODS.sub(_blank, text).rstrip()


def _blank(found: re.Match[str]) -> str:
    kept = "string" if found.group("path") is None else "path"
    start, end = (at - found.start() for at in found.span(kept))
    text = found.group()
    return "".join(
        character if start <= at < end or character.isspace() else " "
        for at, character in enumerate(text)
    )


def parse_subscription(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Query:
    """Parses the subscription of a client; parameters and errors as for
    :func:`~penstock.language.xpath.parsing.parse`."""
    return parse(without_methods(text), namespaces=namespaces, default_namespace=default_namespace)
