"""The subscriptions of a router's own subscribers, and what is delivered to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from penstock.documents import Document, Fragment
from penstock.errors import error
from penstock.mediation import Mapping as SchemaMapping
from penstock.routing.interest_index import (
    NOT_ANNOUNCED,
    InterestIndex,
    LocalTarget,
    TargetQuery,
)
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.router_outputs import (
    NONE_SELECTED,
    Deliveries,
    SelectedFragments,
    delivered_to,
)
from penstock.routing.state_changes import ChangeLog


class SubscriptionTable:
    """Local subscriptions by id; their queries are in the index.

    Examples
    --------
    >>> from penstock.documents import Limits
    >>> table = SubscriptionTable(InterestIndex(Limits()))
    >>> ada = LocalSubscription(id="s1", subscriber="ada", query="//flash")
    >>> {id_: str(pattern) for id_, pattern in table.add([ada]).items()}
    {'s1': '//flash'}
    """

    def __init__(self, index: InterestIndex) -> None:
        self._index = index
        self.by_id: dict[str, LocalSubscription] = {}
        self.conditional: set[str] = set()
        """Ids of the subscriptions that depend on the time or request fragments."""
        self.changes: ChangeLog | None = None
        """Where changes are recorded, if anywhere."""

    def patterns(self) -> dict[str, Pattern]:
        """The patterns of the subscriptions, by id."""
        return {id_: each.pattern() for id_, each in self.by_id.items()}

    def expired(self, now: datetime) -> tuple[str, ...]:
        """Ids of subscriptions that no document can be delivered to any more."""
        conditional = (self.by_id[id_] for id_ in self.conditional)
        return tuple([each.id for each in conditional if each.has_expired(now)])

    def add(self, subscriptions: Iterable[LocalSubscription]) -> dict[str, Pattern]:
        """Add subscriptions, all or none; returns their patterns by id.

        Raises
        ------
        QueryError
            A subscription is invalid, or its id is in use.
        """
        added: dict[str, LocalSubscription] = {}
        for each in subscriptions:
            if each.id in self.by_id or each.id in added:
                raise error("subscription.duplicate", f"the id `{each.id}` is in use")
            added[each.id] = each
        return self.insert(added)

    def insert(self, added: Mapping[str, LocalSubscription]) -> dict[str, Pattern]:
        """Add subscriptions whose ids are known to be new, all or none; as :meth:`add`."""
        patterns = {id_: each.pattern() for id_, each in added.items()}
        self._index.add(
            {LocalTarget(id_): _target_query(each, patterns[id_]) for id_, each in added.items()}
        )
        self.by_id |= added
        self.conditional |= {id_ for id_, each in added.items() if not each.is_unconditional}
        if self.changes is not None:
            self.changes.subscribe(added)
        return patterns

    def change_times(self, subscriptions: Iterable[LocalSubscription]) -> None:
        """Replace subscriptions by those that differ in their times only, all or none.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        QueryError
            ``subscription.duplicate``: something else differs.
        """
        changed = {each.id: each for each in subscriptions}
        for id_, each in changed.items():
            current = self._known(id_)
            if replace(current, starts_at=each.starts_at, expires_at=each.expires_at) != each:
                raise error("subscription.duplicate", f"another subscription has the id `{id_}`")
        self._withdraw(changed)
        self.insert(changed)

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove subscriptions, all or none; returns their ids without duplicates.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        leaving = list(dict.fromkeys(ids))
        for id_ in leaving:
            self._known(id_)
        for id_ in leaving:
            del self.by_id[id_]
        self._withdraw(leaving)
        return leaving

    def _known(self, id_: str) -> LocalSubscription:
        if id_ not in self.by_id:
            raise error("subscription.unknown", f"unknown subscription `{id_}`")
        return self.by_id[id_]

    def _withdraw(self, ids: Collection[str]) -> None:
        """Removes what is derived from subscriptions, but not their entries."""
        self.conditional.difference_update(ids)
        self._index.discard(map(LocalTarget, ids))
        if self.changes is not None:
            self.changes.unsubscribe(ids)

    def deliveries(
        self,
        document: Document,
        mapping: SchemaMapping | None,
        matched: tuple[LocalSubscription, ...],
        now: datetime,
    ) -> Deliveries | None:
        """What is delivered now to subscriptions that match a document; ``None`` if nothing is."""
        if not self.conditional:
            return delivered_to(matched, document) if matched else None
        active = tuple(each for each in matched if each.is_active(now))
        if not active:
            return None
        wanted = {each.id: each for each in active if each.returns == "fragments"}
        selected = NONE_SELECTED
        if wanted:
            found = self._index.select(document, mapping, list(wanted))
            selected = {id_: _selected(wanted[id_], each) for id_, each in found.items()}
        return Deliveries(document, active, selected)


def _target_query(subscription: LocalSubscription, pattern: Pattern) -> TargetQuery:
    # A query that is too long to be announced is announced as everything, which decides nothing.
    digest = NOT_ANNOUNCED if pattern is UNIVERSAL else pattern.digest
    return TargetQuery(subscription.numbered, digest, subscription)


def _selected(subscription: LocalSubscription, fragments: Sequence[Fragment]) -> SelectedFragments:
    maximum = subscription.fragments_max
    kept = tuple(fragments[:maximum])
    # A fragment that cannot be converted refuses the document: not the driver, later.
    xml = tuple([fragment.to_xml() for fragment in kept])
    return SelectedFragments(kept, max(0, len(fragments) - maximum), xml)
