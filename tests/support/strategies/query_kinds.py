"""Queries of both kinds by their text alone: one that begins with a slash is XPath."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.matching.query_indexes import QueryKind


def kind_of(query: str) -> QueryKind:
    """The kind of a query."""
    return "xpath" if query.startswith("/") else "keywords"


def matched_by(queries: Mapping[str, str]) -> Callable[[bytes], set[str]]:
    """A function that returns the names of matching queries, evaluated separately by kind."""
    paths, keywords = SubscriptionIndex(), KeywordIndex()
    for kind, index in (("xpath", paths), ("keywords", keywords)):
        of_kind = {name: query for name, query in queries.items() if kind_of(query) == kind}
        assert not index.add_many(list(of_kind), list(of_kind.values()))
    matchers = (paths.matcher(), keywords.matcher())
    return lambda document: {id_ for each in matchers for id_ in each.match(document).ids}
