"""What a client caches: a query with its namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.errors import error
from penstock.language.updates import parse_subscription, without_methods
from penstock.sync.document_tree import TreeQuery


@dataclass(frozen=True)
class SyncSubscription:
    """A subscription. Method invocations at its end, such as ``!count()``, are ignored.

    Raises
    ------
    QueryError
        The query is refused.
    """

    query: str
    namespaces: tuple[tuple[str, str], ...] = ()
    """Prefixes and namespace URIs."""
    default_namespace: str = ""

    def __post_init__(self) -> None:
        if type(self.query) is not str or type(self.default_namespace) is not str:
            raise error("sync.message", "a subscription is a text")
        parse_subscription(
            self.query,
            namespaces=dict(self.namespaces),
            default_namespace=self.default_namespace or None,
        )

    @cached_property
    def compiled(self) -> TreeQuery:
        """The query, compiled to restrict trees."""
        return TreeQuery(
            without_methods(self.query),
            namespaces=dict(self.namespaces),
            default_namespace=self.default_namespace,
        )

    def __reduce__(self) -> tuple[object, ...]:
        # The compiled query cannot be pickled.
        return SyncSubscription, (self.query, self.namespaces, self.default_namespace)
