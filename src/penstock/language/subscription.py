"""A subscription: a query that stands, under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.language.xpath.ast import Query
from penstock.language.xpath.parsing import parse, parse_normal


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a subscriber asks for: the words of a query, and what its prefixes mean.

    A value: it can be compared, hashed and pickled. The query is not looked at until it is parsed.

    Examples
    --------
    >>> from penstock.language import Subscription
    >>> cheap = Subscription("s1", "//x:item[@price < 10]", namespaces={"x": "urn:shop"})
    >>> cheap.parsed.branches[0].steps[0].test
    NameTest(uri='urn:shop', local='item')
    """

    id: str
    """Names the subscription; one index has it once."""

    query: str
    """XPath, as the subscriber wrote it."""

    namespaces: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)
    """Namespace URIs by prefix."""

    default_namespace: str | None = field(default=None, kw_only=True)
    """The namespace of element names without a prefix."""

    def __post_init__(self) -> None:
        # A copy of our own, which no one changes behind our back.
        object.__setattr__(self, "namespaces", dict(self.namespaces))

    @property
    def parsed(self) -> Query:
        """The query as a tree; a ``QueryError`` where it is refused."""
        return parse(
            self.query, namespaces=self.namespaces, default_namespace=self.default_namespace
        )

    @property
    def normal(self) -> Query:
        """The normal form: equal for subscriptions that ask for the same in different words."""
        return parse_normal(
            self.query, namespaces=self.namespaces, default_namespace=self.default_namespace
        )
