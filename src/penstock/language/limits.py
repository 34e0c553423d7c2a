"""Limits of the query language: sizes of queries and work of relations.

The native core's ``limits.rs`` defines the same limits of queries.
"""

from __future__ import annotations

from typing import Final

MAX_QUERY_CHARACTERS: Final = 16_384
"""Characters in the text of one query."""

MAX_STEPS: Final = 512
"""Steps in one query, including nested paths and all branches."""

MAX_PREDICATES: Final = 512
"""Conditions in one query at any level: ``[a and b]`` and ``[a][b]`` have two each."""

MAX_NESTING: Final = 32
"""Nesting depth of brackets and parentheses."""

MAX_PATTERN_STATES: Final = 1_000
"""States of the automaton of a pattern of ``matches()``. Repetitions are written out: ``a{3}`` has
as many states as ``aaa``."""

MAX_DATE_CHARACTERS: Final = 64
"""Characters of a date, without the white space around it; a longer one is invalid."""

MAX_NAMESPACES: Final = 256
"""Prefixes in the namespace map of a query."""

MAX_NAMESPACE_BYTES: Final = 4_096
"""Bytes of a prefix, and of a namespace URI, in the namespace map of a query."""

MAX_ID_BYTES: Final = 65_536
"""Bytes of a subscription's id in UTF-8; beyond it, the subscription is refused with the code
``subscription.id``."""

# Relations between queries

MAX_PROOF_STEPS: Final = 20_000
"""Proof steps of one relation; beyond it, the relation returns its safe answer."""

MAX_PROOF_WORK: Final = 10_000_000
"""Elementary operations of one relation in the native core, which bound its time where a proof step
is expensive; beyond it, the relation returns its safe answer."""

MAX_PROOF_DEPTH: Final = 384
"""Nesting depth of a proof in the native core; beyond it, the relation returns its safe answer."""

MAX_PROOF_ASSUMPTIONS: Final = 3
"""Nested assumptions in the proof of a ``not``."""

MAX_CLAUSES: Final = 64
"""Alternatives of a path's ``or``s that relations distinguish; beyond it, they are dropped."""

MAX_CACHED_PATTERNS: Final = 4096
"""Cached patterns of paths in the reference."""

MAX_CACHED_GOALS: Final = 4096
"""Cached compiled sets of paths in the reference."""

MAX_CACHED_STEPS: Final = 4096
"""Cached steps without predicates, of queries that the native core made."""

MAX_CACHED_DOMAINS: Final = 32
"""Schemas whose derived facts are cached."""

MAX_GENERALISED_NODES: Final = 24
"""Nodes below any node of a generalised pattern; beyond it, the least specific ones are omitted."""

# Keyword queries

KEYWORD_QUERY_CHARACTERS_MAX: Final = 65_536
"""Characters in the text of a keyword query; beyond it, the query is refused with the code
``keywords.too-long``."""

KEYWORDS_MAX: Final = 1_000
"""Distinct words and phrases of a keyword query; beyond it, the query is refused with
``keywords.too-many``."""

PHRASE_WORDS_MAX: Final = 64
"""Words of a phrase in a keyword query, and so phrases that end at one word of a document; beyond
it, the query is refused with ``keywords.too-many``."""

WORD_BYTES_MAX: Final = 256
"""Bytes of a case-folded word in UTF-8, before its spelling is unified. A query with a longer one
is refused with the code ``keywords.word-too-long``; longer words in documents are ignored."""

# Update statements

UPDATE_STATEMENT_CHARACTERS_MAX: Final = 65_536
"""Characters in the text of an update statement; beyond it, the statement is refused with
``update.limit``. Steps, filters and nesting have the limits of queries."""
