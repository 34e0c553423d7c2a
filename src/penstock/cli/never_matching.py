"""Flags subscriptions that can never match, up to a number that keeps large files fast."""

from __future__ import annotations

from typing import Final

from penstock.errors import QueryError
from penstock.language import Subscription, why_never

NEVER_MATCHING_CHECKS_MAX: Final = 1_000
"""How many XPath subscriptions of a file are checked for queries that can never match.

The check takes some hundred microseconds per subscription.
"""


class NeverMatchingCheck:
    """Checks the first :data:`NEVER_MATCHING_CHECKS_MAX` XPath subscriptions, counts the rest."""

    def __init__(self) -> None:
        self._checked = 0
        self.skipped = 0
        """How many XPath subscriptions were not checked."""

    def reason(self, subscription: Subscription) -> str | None:
        """Why the subscription never matches; ``None`` if it can, or if it was not checked."""
        if self._checked == NEVER_MATCHING_CHECKS_MAX:
            self.skipped += 1
            return None
        self._checked += 1
        try:
            return why_never(subscription.parsed)
        except QueryError:
            return None  # reported as refused by the index

    def skipped_note(self) -> str:
        """Says that the check was skipped."""
        return (
            f"note: only the first {self._checked:,} XPath subscriptions were checked for queries"
            f" that can never match; {self.skipped:,} were not"
        )
