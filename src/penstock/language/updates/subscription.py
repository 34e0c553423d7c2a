"""Subscriptions of clients: XPath queries, whose method invocations are ignored.

``//Item/Price!max()`` depends on all prices, so a client with this subscription caches
``//Item/Price``. What a method is compared with is ignored, too: ``//Item[Price!count() = 2]`` is
``//Item[Price]``, since the number of prices is no price. A method that is compared with anything
but a literal is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.language.updates.subscription_methods import without_methods
from penstock.language.xpath.ast import Query
from penstock.language.xpath.parsing import parse


def parse_subscription(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Query:
    """Parses the subscription of a client; parameters and errors as for
    :func:`~penstock.language.xpath.parsing.parse`."""
    return parse(without_methods(text), namespaces=namespaces, default_namespace=default_namespace)
