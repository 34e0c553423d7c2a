"""The limits of matching."""

from __future__ import annotations

from typing import Final

CACHE_BYTES_MAX: Final[int] = 256 << 20
"""Bytes of cached automaton states, for all matchers and threads of a process together. When
exceeded, idle caches are discarded; then the cache in use is evicted and rebuilt on demand. Each
thread may exceed it by a sixteenth during a document."""

UNDECIDED_MAX: Final[int] = 1 << 20
"""Undecided candidate nodes per document; beyond it, the subscriptions with the most are set aside,
and an explanation is refused with the code `limit.candidates`."""

COMPARED_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of string-values per document that are stored to compare two paths (``[a = b]``) and to
count nodes; beyond it, the subscriptions with the most are set aside, and an explanation is refused
with the code `limit.comparison`."""

SELECTED_BYTES_MAX: Final[int] = 256 << 20
"""Bytes of all fragments that subscriptions select in a document; beyond it, those of the
subscriptions with the most are not determined. Fixed: the native core uses the same value."""

WITNESSES_MAX: Final[int] = 64
"""Nodes that an explanation lists; it always reports the total count."""

OTHER_NAMESPACES_MAX: Final[int] = 3
"""Namespaces that an explanation lists if a name exists only in others than the query's."""

OTHER_NAMESPACES_BYTES_MAX: Final[int] = 16 << 20
"""Size of the largest document that an explanation searches for them."""

LABEL_PATHS_MAX: Final[int] = 4096
"""Distinct label paths of a document and attribute names at them, together; beyond it, they are not
reported."""

HEADER_TESTS_MAX: Final[int] = 16
"""Header fields that one subscription tests; beyond it, the subscription is refused with the code
`subscription.where`."""

HEADER_TEST_CHARACTERS_MAX: Final[int] = 1_000
"""Characters of the name or value of a tested header field; beyond it, likewise."""

KEYWORD_WITNESSES_MAX: Final[int] = 16
"""Witness elements per keyword that an answer lists and its path return includes; the rest are
counted, and the answer is flagged as truncated."""

KEYWORD_TEXT_RANGES_MAX: Final[int] = 1_000
"""Text ranges of one element in a path return, separated by its children; beyond it, the answer is
flagged as truncated."""

KEYWORD_WINDOW_MAX: Final[int] = 1 << 20
"""Elements, words and text ranges of one document that the engine `postings` buffers. In larger
documents, closed subtrees are summarised while reading, and detailed answers to `OR` queries are
refused with the code `keywords.or-too-large`."""

KEYWORD_ANSWER_BYTES_MAX: Final[int] = 256 << 20
"""Approximate memory for the answers of one document to keyword queries; beyond it, those of the
subscriptions with the most are not determined, and a request for them is refused with the code
`keywords.too-many-answers`."""

KEYWORD_ANSWERS_MAX: Final[int] = 1 << 24
"""Answers of one document that the engines `kale` and `kemb` find; beyond it, the document is
refused with the code `keywords.too-many-answers`."""

KEMB_WORDS_MAX: Final[int] = 10
"""Words of a query in the automaton of the engine `kemb`; longer queries are evaluated as by
`kale`."""

KEMB_STATES_MAX: Final[int] = 1 << 22
"""States of that automaton; queries that would exceed it are evaluated as by `kale`."""

KEMB_KEPT_MAX: Final[int] = 1 << 23
"""Elements and words of one document that the engine `kemb` retains; beyond it, answers to `OR`
queries are refused with the code `keywords.or-too-large`."""
