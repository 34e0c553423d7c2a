"""Base classes of the contract suites."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock import Limits, Matcher, SubscriptionIndex

CHEAP = "/news/item[price < 10]"
DEAR = "/news/item[price > 100]"
NOT_WELL_FORMED = b"<news><item></news>"


class MatcherSuite(ABC):
    """Tests of matchers; a subclass creates the matchers."""

    @abstractmethod
    def matcher(self, limits: Limits | None = None, **queries: str) -> Matcher:
        """A matcher of these queries."""


class EngineSuite(MatcherSuite):
    """Tests of one engine; a subclass names it."""

    engine: str

    def index(self, **queries: str) -> SubscriptionIndex:
        index = SubscriptionIndex(engine=self.engine)
        assert index.add_many(queries.keys(), queries.values()) == {}
        return index

    def matcher(self, limits: Limits | None = None, **queries: str) -> Matcher:
        return self.index(**queries).matcher(limits=limits)
