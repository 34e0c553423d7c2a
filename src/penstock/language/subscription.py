"""A subscription: an id with an XPath query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.language.xpath.ast import Query
from penstock.language.xpath.parsing import parse, parse_normal


@dataclass(frozen=True, slots=True)
class Subscription:
    """The text of a query with its namespaces.

    A value that can be compared, hashed and pickled. The query is parsed lazily.

    Examples
    --------
    >>> from penstock.language import Subscription
    >>> cheap = Subscription("s1", "//x:item[@price < 10]", namespaces={"x": "urn:shop"})
    >>> cheap.parsed.branches[0].steps[0].test
    NameTest(uri='urn:shop', local='item')
    """

    id: str
    """The id of the subscription, unique in an index."""

    query: str
    """XPath, as the subscriber wrote it."""

    namespaces: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)
    """Namespace URIs by prefix."""

    default_namespace: str | None = field(default=None, kw_only=True)
    """The namespace of element names without a prefix."""

    def __post_init__(self) -> None:
        # Copied, so that the caller cannot change it later.
        object.__setattr__(self, "namespaces", dict(self.namespaces))

    @property
    def parsed(self) -> Query:
        """The parsed query; raises ``QueryError`` if it is invalid."""
        return parse(
            self.query, namespaces=self.namespaces, default_namespace=self.default_namespace
        )

    @property
    def normal(self) -> Query:
        """The normal form of the query."""
        return parse_normal(
            self.query, namespaces=self.namespaces, default_namespace=self.default_namespace
        )
