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

KEYWORD_TEXT_RANGES_MAX: Final[int] = 1_000
"""How many pieces of its own text, with children between them, an element has in a path return;
past it, the answer is flagged as truncated."""

KEYWORD_WINDOW_MAX: Final[int] = 1 << 20
"""Elements, words and pieces of text of one document that the engine `postings` holds at once. A
larger document is folded as it is read; to keywords with `OR` that it has, it can give no answers,
and is refused with the code `keywords.or-too-large` if they are asked for."""

KEYWORD_ANSWERS_MAX: Final[int] = 1 << 24
"""Answers of one document to all keyword queries; past it the document is refused with the code
`keywords.too-many-answers`."""

KEMB_WORDS_MAX: Final[int] = 10
"""Words of a query that the automaton of the engine `kemb` takes; a longer one goes the way of
`kale`."""

KEMB_STATES_MAX: Final[int] = 1 << 22
"""States of that automaton; a query that would need more goes the way of `kale`."""

KEMB_KEPT_MAX: Final[int] = 1 << 23
"""Elements and words of one document that the engine `kemb` keeps; past it they are forgotten, and
the document is refused with the code `keywords.or-too-large` if answers to keywords with `OR` are
asked for."""
