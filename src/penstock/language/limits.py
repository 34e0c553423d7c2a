"""Every limit of the language by name: how large a query may be, and how hard relations try.

The native core's ``limits.rs`` says the same of queries.
"""

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

# Relations between queries

MAX_PROOF_STEPS: Final = 20_000
"""Steps one relation between two queries may take to prove; past it, it takes its safe side."""

MAX_PROOF_ASSUMPTIONS: Final = 3
"""Assumptions that the proof of a ``not`` may pile up."""

MAX_CLAUSES: Final = 64
"""Ways to satisfy the ``or``s of a path that relations tell apart; past it, they drop them."""

MAX_PATTERNS_KEPT: Final = 4096
"""Paths that relations keep as patterns."""

MAX_GOALS_KEPT: Final = 4096
"""Sets of paths that relations keep compiled."""

MAX_WORLDS_KEPT: Final = 32
"""Schemas of which relations keep what they derived."""

MAX_GENERALISED_NODES: Final = 24
"""Nodes below any one node of a generalised pattern; past it, what says least is left out."""

# Keyword queries

KEYWORDS_MAX: Final = 1_000
"""Distinct words of one keyword query; past it, it is refused with ``keywords.too-many``."""

WORD_BYTES_MAX: Final = 256
"""Bytes of a folded word in UTF-8. A query with a longer one is refused with the code
``keywords.word-too-long``; in documents, longer ones are no words."""
