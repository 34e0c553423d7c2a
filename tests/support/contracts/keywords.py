"""The contract of results, kept by matchers of keyword subscriptions too."""

from __future__ import annotations

from penstock import KeywordMatcher, Limits
from support.contracts.engine_suite import CHEAP, DEAR
from support.contracts.keyword_engines import KEYWORD_WAYS, keyword_index
from support.contracts.results import ResultContract

IN_WORDS = {
    "/news": "news",
    "/other": "other",
    "//p": "p one two",
    CHEAP: "item price 7",
    DEAR: "item price 700",
}
"""What the contract asks for by XPath, with the same matches."""


class KeywordResults(ResultContract):
    """The suite; a subclass names the engine."""

    way: str

    def matcher(self, limits: Limits | None = None, **queries: str) -> KeywordMatcher:
        in_words = {name: IN_WORDS[query] for name, query in queries.items()}
        return keyword_index(self.way, in_words).matcher(
            limits=limits, discard=KEYWORD_WAYS[self.way][1]
        )
