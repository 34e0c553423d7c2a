"""Compares what subscribers received with what the reference engines match."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache

from penstock.documents import Document
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.mediation import MediatedMatcher
from penstock.routing import Delivery, LocalSubscription
from support.routing.random_traffic import KEYWORDS, MAPPINGS, PATHS


@dataclass
class PublishedDocument:
    """A document, and between which settled moments its deliveries are made."""

    document: Document
    step: int
    time: datetime
    settled_step: float = math.inf
    settled_time: datetime | None = None


@dataclass
class SubscriptionLife:
    """A subscription, and the steps at which it came, was known everywhere, and left."""

    subscription: LocalSubscription
    step: int
    settled_step: float = math.inf
    removed_step: float = math.inf
    received: list[str] = field(default_factory=list)
    """Identities of the delivered documents."""


class DeliveryChecker:
    """What was published, subscribed and delivered.

    A delivery is *required* if the subscription was known everywhere when the document was
    published, and left, if at all, after the network had come to rest again. It is *allowed* if the
    subscription exists and is active when it is made. The time between is that of messages on
    their way.
    """

    def __init__(self) -> None:
        self.published: dict[str, PublishedDocument] = {}
        self.lives: dict[str, SubscriptionLife] = {}
        self._matching: dict[str, frozenset[str]] = {}

    def publish(self, document: Document, step: int, now: datetime) -> None:
        self.published.setdefault(document.identity, PublishedDocument(document, step, now))

    def subscribe(self, subscription: LocalSubscription, step: int) -> None:
        self.lives[subscription.id] = SubscriptionLife(subscription, step)

    def unsubscribe(self, id_: str, step: int) -> None:
        self.lives[id_].removed_step = step

    def settle(self, step: int, now: datetime) -> None:
        """The network has come to rest: no message is on its way."""
        for life in self.lives.values():
            life.settled_step = min(life.settled_step, step)
        for published in self.published.values():
            if published.settled_time is None:
                published.settled_step, published.settled_time = step, now

    def deliver(self, delivery: Delivery, now: datetime) -> None:
        life = self.lives[delivery.subscription]
        published = self.published[delivery.document.identity]
        assert life.removed_step == math.inf, "delivered after it was removed"
        assert life.subscription.is_active(now), "delivered outside its window"
        assert delivery.subscriber == life.subscription.subscriber
        assert delivery.document == published.document, "the bytes were changed"
        assert self.is_match(life.subscription, delivery.document), "delivered without a match"
        assert delivery.document.identity not in life.received, "delivered twice"
        life.received.append(delivery.document.identity)

    def check_order(self) -> None:
        """Each subscription received the documents of each publisher in the order of publishing."""
        for life in self.lives.values():
            by_publisher: defaultdict[str, list[int]] = defaultdict(list)
            for identity in life.received:
                published = self.published[identity]
                by_publisher[published.document.header.publisher].append(published.step)
            for steps in by_publisher.values():
                assert steps == sorted(steps)

    def missing(self) -> set[tuple[str, str]]:
        """Subscriptions and identities of documents that are required and not delivered."""
        return {
            (id_, identity)
            for id_, identity in self._required_pairs()
            if identity not in self.lives[id_].received
        }

    def required(self) -> int:
        """Number of required deliveries."""
        return len(self._required_pairs())

    def _required_pairs(self) -> list[tuple[str, str]]:
        return [
            (id_, identity)
            for id_, life in self.lives.items()
            for identity, published in self.published.items()
            if self._is_required(life, published)
        ]

    def _is_required(self, life: SubscriptionLife, published: PublishedDocument) -> bool:
        return (
            life.settled_step < published.step
            and published.settled_time is not None
            and published.settled_step < life.removed_step
            and life.subscription.is_active(published.time)
            and life.subscription.is_active(published.settled_time)
            and self.is_match(life.subscription, published.document)
        )

    def is_match(self, subscription: LocalSubscription, document: Document) -> bool:
        """Whether a document matches, by the reference engines."""
        if document.identity not in self._matching:
            self._matching[document.identity] = matching_queries(document)
        fields = document.header.fields
        return subscription.query in self._matching[document.identity] and all(
            fields.get(name) == value for name, value in subscription.where.items()
        )


@cache
def _reference_matchers() -> tuple[MediatedMatcher, MediatedMatcher]:
    paths, keywords = SubscriptionIndex(engine="reference"), KeywordIndex(engine="reference")
    paths.add_many(PATHS, PATHS)
    keywords.add_many(KEYWORDS, KEYWORDS)
    return (
        MediatedMatcher(paths.matcher(), way="sdr"),
        MediatedMatcher(keywords.matcher(), way="sdr"),
    )


def matching_queries(document: Document) -> frozenset[str]:
    """The queries of random traffic that match a document under its mapping."""
    mapping = MAPPINGS.get(document.header.schema)
    return frozenset(
        query for matcher in _reference_matchers() for query in matcher.match(document, mapping).ids
    )
