"""What a client caches: a query with its namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from penstock.errors import error
from penstock.language.updates import (
    parse_subscription,
    parse_xql_subscription,
    without_methods,
)
from penstock.language.updates.xql_subscription import XqlSubscription
from penstock.sync.document_tree import TreeQuery


class SubscriptionLanguage(Enum):
    """The language of a subscription."""

    XPATH = "xpath"
    """Queries of the matching language: positions count from 1, ``*`` selects elements."""
    XQL = "xql"
    """Paths as in statements: positions count from 0, ``*`` selects elements and text."""


@dataclass(frozen=True)
class SyncSubscription:
    """A subscription. Method invocations, such as ``!count()``, are ignored.

    Raises
    ------
    QueryError
        The query is refused.
    UpdateError
        The query, in extended XQL, is refused.
    """

    query: str
    namespaces: tuple[tuple[str, str], ...] = ()
    """Prefixes and namespace URIs."""
    default_namespace: str = ""
    language: SubscriptionLanguage = SubscriptionLanguage.XPATH

    def __post_init__(self) -> None:
        if type(self.query) is not str or type(self.default_namespace) is not str:
            raise error("sync.message", "a subscription is a text")
        if not isinstance(self.language, SubscriptionLanguage):
            raise error("sync.message", "unknown language of a subscription")
        # What extended XQL is translated to has limits of its own.
        parse_subscription(
            self.observed,
            namespaces=dict(self.namespaces),
            default_namespace=self.default_namespace or None,
        )

    def __hash__(self) -> int:
        # Servers look subscriptions up for each client and round, and a text knows its hash.
        return hash(self.query)

    @cached_property
    def xql(self) -> XqlSubscription:
        """The subscription, parsed as extended XQL."""
        return parse_xql_subscription(
            without_methods(self.query),
            namespaces=dict(self.namespaces),
            default_namespace=self.default_namespace or None,
        )

    @property
    def observed(self) -> str:
        """A query that observes at least what the subscription does."""
        if self.language is SubscriptionLanguage.XQL:
            return self.xql.observed
        return without_methods(self.query)

    @cached_property
    def compiled(self) -> TreeQuery:
        """The query, compiled to restrict trees."""
        if self.language is SubscriptionLanguage.XQL:
            branches = [
                [(stage.query, stage.index) for stage in stages] for stages in self.xql.branches
            ]
        else:
            branches = [[(without_methods(self.query), None)]]
        return TreeQuery(
            branches,
            namespaces=dict(self.namespaces),
            default_namespace=self.default_namespace,
        )

    def __reduce__(self) -> tuple[object, ...]:
        # The compiled query cannot be pickled.
        fields = self.query, self.namespaces, self.default_namespace, self.language
        return SyncSubscription, fields
