"""Subscriptions of clients: XPath queries, whose method invocations are ignored.

``//Item/Price!max()`` depends on all prices, so a client with this subscription caches
``//Item/Price``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from penstock.language.xpath.ast import Query
from penstock.language.xpath.parsing import parse

_METHODS: Final = re.compile(r"(?:\s*!\s*[A-Za-z][A-Za-z0-9_-]*\s*\(\s*\))+\s*\Z")


def without_methods(text: str) -> str:
    """A subscription without the method invocations at its end.

    Examples
    --------
    >>> from penstock.language.updates import without_methods
    >>> without_methods("//Item/Price!max()")
    '//Item/Price'
    """
    return _METHODS.sub("", text)


def parse_subscription(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Query:
    """Parses the subscription of a client; parameters and errors as for
    :func:`~penstock.language.xpath.parsing.parse`."""
    return parse(without_methods(text), namespaces=namespaces, default_namespace=default_namespace)
