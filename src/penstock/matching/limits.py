"""The named limits of matching."""

from __future__ import annotations

from typing import Final

CACHE_BYTES_MAX: Final[int] = 256 << 20
"""Memory of one process's automata; past it they are dropped, and made anew as needed."""

UNDECIDED_MAX: Final[int] = 1 << 20
"""Nodes of one document that may wait for what follows to decide on them; past it the document is
refused with the code `limit.candidates`."""

WITNESSES_MAX: Final[int] = 64
"""How many nodes an explanation lists; how many there are in all it always says."""

KEYWORD_WITNESSES_MAX: Final[int] = 16
"""How many elements that hold a keyword an answer lists, and its path return leads to; the rest are
counted, and the answer is flagged as truncated."""
