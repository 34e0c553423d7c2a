"""The results contract for matchers of keyword subscriptions."""

from __future__ import annotations

from penstock import KeywordMatcher, Limits
from support.contracts.engine_suite import CHEAP, DEAR
from support.contracts.keyword_engines import KEYWORD_ENGINES, keyword_index
from support.contracts.results import ResultContract

IN_WORDS = {
    "/news": "news",
    "/other": "other",
    "//p": "p one two",
    CHEAP: "item price 7",
    DEAR: "item price 700",
}
"""Keyword queries with the same matches as the XPath queries of the contract."""


class KeywordResults(ResultContract):
    """The suite; a subclass names the engine."""

    engine_name: str

    def matcher(self, limits: Limits | None = None, **queries: str) -> KeywordMatcher:
        in_words = {name: IN_WORDS[query] for name, query in queries.items()}
        return keyword_index(self.engine_name, in_words).matcher(
            limits=limits, discard=KEYWORD_ENGINES[self.engine_name][1]
        )
