"""The limits of synchronisation."""

from __future__ import annotations

from typing import Final

AFFECTED_CACHE_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of cached automaton states of an index of affected subscriptions; at the limit, the cache
is cleared and rebuilt on demand."""

AFFECTED_SUBSCRIPTIONS_MAX: Final[int] = 16_000_000
"""Subscriptions of an index of affected subscriptions."""
