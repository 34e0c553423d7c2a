"""What every part of the contract stands on."""

from __future__ import annotations

from penstock import Matcher, SubscriptionIndex

CHEAP = "/news/item[price < 10]"
DEAR = "/news/item[price > 100]"
NOT_WELL_FORMED = b"<news><item></news>"


class EngineSuite:
    """Tests of one engine; a subclass names it."""

    engine: str

    def index(self, **queries: str) -> SubscriptionIndex:
        index = SubscriptionIndex(engine=self.engine)
        assert index.add_many(queries.keys(), queries.values()) == {}
        return index

    def matcher(self, **queries: str) -> Matcher:
        return self.index(**queries).matcher()
