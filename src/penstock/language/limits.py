"""How large a query may be: every limit by name. The native core's `limits.rs` says the same."""

from __future__ import annotations

from typing import Final

MAX_QUERY_CHARACTERS: Final = 16_384
"""Characters in the text of one query."""

MAX_STEPS: Final = 512
"""Steps in one query, those of nested paths and of every branch included."""

MAX_PREDICATES: Final = 512
"""Conditions in one query, wherever they stand: ``[a and b]`` and ``[a][b]`` have two each."""

MAX_NESTING: Final = 32
"""Brackets and parentheses open at once."""
