"""Parses the patterns that a neighbour sent or a store returned."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import PenstockError, error
from penstock.matching.header_tests import header_test_error
from penstock.routing.patterns import Pattern

_MALFORMED = (
    PenstockError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
)
"""Errors of a key that is other JSON, or has other types or another query than expected."""


def parse_patterns(keys: Iterable[str]) -> tuple[Pattern, ...]:
    """The patterns of these keys, which a neighbour sent or a store returned.

    Raises
    ------
    RoutingError
        ``routing.pattern``
    """
    return tuple(_parse(key) for key in keys)


def _parse(key: str) -> Pattern:
    """Only the canonical key of a valid pattern is accepted."""
    try:
        pattern = Pattern.from_key(key)
    except _MALFORMED as problem:
        raise error("routing.pattern", f"invalid pattern: {problem}") from None
    if pattern.key != key or not pattern.is_storable:
        raise error("routing.pattern", "the key of a pattern is not canonical, or it is too long")
    refused = header_test_error(dict(pattern.where))
    if refused is not None:
        raise error("routing.pattern", f"invalid pattern: {refused.message}")
    return pattern
