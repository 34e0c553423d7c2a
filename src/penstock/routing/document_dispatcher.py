"""Delivers documents to local subscribers and forwards them to neighbours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TypeAlias

from penstock.documents import Document
from penstock.matching.label_paths import LabelPaths
from penstock.mediation import Mapping as SchemaMapping
from penstock.routing.annotation_header import match_list_of
from penstock.routing.annotation_kinds import MATCH_LIST_ALONE
from penstock.routing.annotations import DocumentAnnotations, fits_document
from penstock.routing.interest_index import Targets
from penstock.routing.limits import SET_ASIDE_NAMED_MAX
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.neighbour_router import NeighbourRouter
from penstock.routing.router_messages import ForwardedDocument, forwarded_document
from penstock.routing.router_outputs import (
    RouterOutput,
    SendMessage,
    SubscriptionsSetAside,
    delivered_to,
    discarded_for,
    sent_to,
)
from penstock.routing.router_state import RouterCounters
from penstock.routing.routes import DecidedRoutes
from penstock.routing.subscription_table import SubscriptionTable

Forward: TypeAlias = tuple[NeighbourRouter, ForwardedDocument]


class DocumentDispatcher:
    """Sends documents whose targets are known.

    Whatever can fail precedes the first delivery and the first forward: a document goes to all of
    its targets or to none.

    Parameters
    ----------
    neighbours, by_group
        The neighbours by name, and by their group in the index: views of the current ones.
    rechecking_subscribers
        Subscribers that match the documents they receive again.
    """

    def __init__(
        self,
        *,
        subscriptions: SubscriptionTable,
        neighbours: Mapping[str, NeighbourRouter],
        by_group: Mapping[int, NeighbourRouter],
        counts: RouterCounters,
        rechecking_subscribers: Collection[str],
    ) -> None:
        self._subscriptions = subscriptions
        self._neighbours = neighbours
        self._by_group = by_group
        self._counts = counts
        self._rechecking_subscribers = frozenset(rechecking_subscribers)

    def pass_on(
        self,
        document: Document,
        attested: bytes,
        decided: DecidedRoutes,
        source: NeighbourRouter,
        now: datetime,
    ) -> list[RouterOutput]:
        """Deliver and forward a document without a mapping that a match list decided.

        The index counts it, and assumes that all recipients are served and all headers are used.
        """
        subscriptions, headers = decided
        size = len(document.content)
        unused_bytes = 0
        forwards: list[Forward] = []
        for group, header in headers:
            neighbour = self._by_group[group]
            annotator = neighbour.annotator
            annotations = header
            if (
                neighbour.is_authenticated
                and annotator.gain.kinds == MATCH_LIST_ALONE
                and fits_document(len(header), size)
            ):
                annotator.sent_list(len(header))
            else:
                unused_bytes += len(header)
                made = DocumentAnnotations(attested, size)
                annotations = self._annotate(made, neighbour, match_list_of(header), None)
            forwards.append((neighbour, forwarded_document(document, "", annotations)))
        outputs: list[RouterOutput] = []
        if self._subscriptions.conditional:
            self._deliver(document, None, subscriptions, now, outputs)
            self._counts.deliveries -= len(subscriptions)
        elif subscriptions:
            outputs.append(delivered_to(subscriptions, document))
        # Nothing fails from here on, so that a document is either passed on or refused.
        self._counts.annotation_bytes -= unused_bytes
        report = source.received_gain.not_read(size)
        if report is not None and source.is_up:
            outputs.append(SendMessage(source.name, report))
        self._forward(forwards, outputs)
        return outputs

    def dispatch(
        self,
        document: Document,
        mapping: SchemaMapping | None,
        headers: DocumentAnnotations,
        targets: Targets,
        now: datetime,
    ) -> list[RouterOutput]:
        """Deliver and forward a document to its targets."""
        mapping_digest = "" if mapping is None else mapping.digest
        forwards: list[Forward] = []
        for name, match_list in targets.forwards:
            neighbour = self._neighbours[name]
            header = self._annotate(headers, neighbour, match_list, targets.label_paths)
            forwards.append((neighbour, forwarded_document(document, mapping_digest, header)))
        outputs: list[RouterOutput] = []
        self._deliver(document, mapping, targets.subscriptions, now, outputs)
        self._forward(forwards, outputs)
        self._counts.forwards += len(forwards)
        return outputs

    def recheck(self, document: Document, targets: Targets, outputs: list[RouterOutput]) -> Targets:
        """Report what is set aside; subscriptions of rechecking subscribers become matches."""
        unknown = [self._subscriptions.by_id[id_] for id_ in targets.set_aside]
        names = self._rechecking_subscribers
        rechecked = [each for each in unknown if each.subscriber in names]
        others = tuple([each.id for each in unknown if each.subscriber not in names])
        if others:
            outputs.append(_set_aside(document, others))
            self._counts.set_aside += len(others)
        return targets._replace(subscriptions=(*targets.subscriptions, *rechecked))

    def _annotate(
        self,
        headers: DocumentAnnotations,
        neighbour: NeighbourRouter,
        match_list: bytes,
        label_paths: LabelPaths | None,
    ) -> bytes:
        if not neighbour.is_authenticated:
            return b""
        header = neighbour.annotator.annotate(headers, match_list, label_paths)
        self._counts.annotation_bytes += len(header)
        return header

    def _deliver(
        self,
        document: Document,
        mapping: SchemaMapping | None,
        matched: tuple[LocalSubscription, ...],
        now: datetime,
        outputs: list[RouterOutput],
    ) -> None:
        deliveries = self._subscriptions.deliveries(document, mapping, matched, now)
        if deliveries is not None:
            self._counts.deliveries += len(deliveries.recipients)
            outputs.append(deliveries)

    def _forward(self, forwards: Iterable[Forward], outputs: list[RouterOutput]) -> None:
        for neighbour, message in forwards:
            if neighbour.is_up:
                outputs.append(sent_to(neighbour.name, message))
            else:
                discarded = neighbour.queue.append(message)
                self._counts.discarded += len(discarded)
                outputs += discarded_for(neighbour.name, discarded)


def _set_aside(document: Document, ids: tuple[str, ...]) -> SubscriptionsSetAside:
    named = ", ".join(f"`{id_}`" for id_ in ids[:SET_ASIDE_NAMED_MAX])
    others = len(ids) - SET_ASIDE_NAMED_MAX
    return SubscriptionsSetAside(
        document=document,
        subscriptions=ids,
        code="limit.work",
        message=f"the work budget is spent; {len(ids)} subscriptions of this router are set aside:"
        f" {named}{f' and {others:,} others' if others > 0 else ''}",
    )
