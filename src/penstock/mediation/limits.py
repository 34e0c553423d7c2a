"""The named limits of mediation, all in one place."""

from __future__ import annotations

from typing import Final

COPIES_MAX: Final[int] = 1_000_000
"""Elements and texts that Exchange and Downgrade may copy while one document is rewritten; past it
the document is refused with ``mapping.copies``."""

DOMAIN_LENGTH_MAX: Final[int] = 100
"""Characters in the name of a domain; a longer one is refused with ``schema.domain``."""
