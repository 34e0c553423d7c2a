"""The subscriptions of a router's own subscribers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from penstock.errors import error
from penstock.language.limits import MAX_ID_BYTES
from penstock.language.source_position import utf8_size
from penstock.matching.query_indexes import QUERY_KINDS, NumberedQuery, QueryKind
from penstock.routing.limits import DELIVERY_FRAGMENTS_MAX, SUBSCRIPTION_FRAGMENTS_MAX
from penstock.routing.patterns import UNIVERSAL, Pattern

Returns: TypeAlias = Literal["document", "fragments"]
"""What a delivery contains besides the document: nothing, or the fragments that were selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSubscription:
    """A query of a subscriber that is attached to this router.

    Examples
    --------
    >>> both = LocalSubscription(id="s1", subscriber="ada", query="storm coast", kind="keywords")
    >>> str(both.pattern())
    'coast storm'
    """

    id: str
    subscriber: str
    query: str
    """XPath or keywords."""

    kind: QueryKind = "xpath"
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    default_namespace: str | None = None
    where: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Header fields and the values that they must have."""

    returns: Returns = "document"
    fragments_max: int = DELIVERY_FRAGMENTS_MAX
    """Maximum number of fragments in a delivery."""

    starts_at: datetime | None = None
    """Documents that arrive before this time are not delivered."""

    expires_at: datetime | None = None
    """Documents that arrive at or after this time are not delivered."""

    def __post_init__(self) -> None:
        for kind, name in (("subscription", self.id), ("subscriber", self.subscriber)):
            size = utf8_size(name)
            if size is None or not 1 <= size <= MAX_ID_BYTES:
                raise error("subscription.id", f"a {kind} is named by 1 to {MAX_ID_BYTES} bytes")
        if self.kind not in QUERY_KINDS:
            raise error("subscription.kind", f"unknown kind of subscription: `{self.kind}`")
        if self.kind == "keywords" and (self.namespaces or self.default_namespace):
            raise error("subscription.kind", "a keyword subscription cannot have namespaces")
        if self.returns not in get_args(Returns):
            raise error("subscription.returns", f"unknown return type: `{self.returns}`")
        if not 1 <= self.fragments_max <= SUBSCRIPTION_FRAGMENTS_MAX:
            raise error(
                "subscription.fragments-max",
                f"a delivery can have 1 to {SUBSCRIPTION_FRAGMENTS_MAX:,} fragments, not"
                f" {self.fragments_max:,}",
            )
        for time in (self.starts_at, self.expires_at):
            if time is not None and time.tzinfo is None:
                raise error("subscription.times", f"{time.isoformat()} has no time zone")
        if self.starts_at and self.expires_at and self.expires_at <= self.starts_at:
            raise error("subscription.times", "it expires before it starts")

    @property
    def is_unconditional(self) -> bool:
        """Whether all matching documents are delivered, at any time and without fragments."""
        return self.starts_at is None and self.expires_at is None and self.returns == "document"

    def is_active(self, now: datetime) -> bool:
        """Whether documents that arrive now are delivered."""
        return (self.starts_at is None or self.starts_at <= now) and (
            self.expires_at is None or now < self.expires_at
        )

    def has_expired(self, now: datetime) -> bool:
        """Whether no further documents are delivered."""
        return self.expires_at is not None and self.expires_at <= now

    def pattern(self) -> Pattern:
        """The interest that is announced to neighbours, in an aggregated set.

        A query whose normal form is too long for an index is announced as everything.

        Raises
        ------
        QueryError
            The query or the header tests are invalid.
        """
        if self.kind == "keywords":
            return Pattern.of_keywords(self.query, where=self.where)
        pattern = Pattern.of_path(
            self.query,
            namespaces=self.namespaces,
            default_namespace=self.default_namespace,
            where=self.where,
        )
        return pattern if pattern.is_storable else UNIVERSAL

    def numbered(self, number: int) -> NumberedQuery:
        """The query for an index of both kinds, as the subscriber wrote it."""
        bindings = tuple(sorted(self.namespaces.items()))
        tests = tuple(sorted(self.where.items()))
        return number, self.kind, self.query, bindings, self.default_namespace, tests
