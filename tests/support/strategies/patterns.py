"""Patterns of both kinds, with header tests, and documents that often match them."""

from __future__ import annotations

import random
from typing import Final

from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.language import Query, normalise, parse_keywords, why_never
from penstock.routing import Pattern
from penstock.routing.minimisation import minimise
from support.strategies.queries import Vocabulary, linear_queries, queries
from support.strategies.tiny_documents import random_document

_VOCABULARY: Final = Vocabulary(texts=("x", "y", "xy"), numbers=(1.0, 2.0, 10.0), functions=False)
_WORDS: Final = ("a", "b", "x", "xy", "y", '"x y"', '"x y x"')

path_queries: Final[st.SearchStrategy[Query]] = st.one_of(
    linear_queries(_VOCABULARY),
    queries(_VOCABULARY, max_branches=1, max_depth=1),
    queries(_VOCABULARY, max_branches=2, max_depth=2),
).map(normalise)
"""Queries, most of which a small document matches."""


def keyword_texts() -> st.SearchStrategy[str]:
    """Keyword queries with ``AND`` or ``OR``, and with phrases."""
    chosen = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4)
    return chosen.map(" ".join) | chosen.map(" OR ".join)


_header_tests: Final = st.sampled_from(
    (frozenset(), frozenset(), frozenset({("lang", "en")}), frozenset({("lang", "de")}))
)

path_patterns: Final[st.SearchStrategy[Pattern]] = st.builds(
    Pattern, path_queries.map(minimise), _header_tests
)

keyword_patterns: Final[st.SearchStrategy[Pattern]] = st.builds(
    lambda text, where: Pattern(minimise(parse_keywords(text)), where),
    keyword_texts(),
    _header_tests,
)

patterns: Final[st.SearchStrategy[Pattern]] = path_patterns | path_patterns | keyword_patterns
"""Patterns of both kinds."""


def can_match(pattern: Pattern) -> bool:
    """A pattern that cannot is contained in all others, whatever their labels."""
    return not isinstance(pattern.query, Query) or why_never(pattern.query) is None


satisfiable: Final[st.SearchStrategy[Pattern]] = patterns.filter(can_match)
"""Patterns that some document matches."""


def sample_documents(seed: int, count: int) -> list[Document]:
    """Random small documents, with and without a header field."""
    chance = random.Random(seed)
    values = ("", "x", "xy", "y", "1", "2", "10", "x y", "x y x")
    return [
        Document(
            random_document(chance, values=values, depth=chance.randrange(4)).encode(),
            Header(publisher="p", fields=chance.choice(({}, {"lang": "en"}, {"lang": "de"}))),
        )
        for _ in range(count)
    ]
