"""Answers to peers that look for a place: to those that join, and to those that may move."""

from __future__ import annotations

import msgspec

from penstock.overlay.limits import (
    ADD_HOPS_MAX,
    DEPTH_MAX,
    EXCLUDED_PEERS_MAX,
    PRIMED_DOCUMENTS_MIN,
)
from penstock.overlay.membership.attach_attempts import AttachAttempts
from penstock.overlay.membership.document_delivery import DocumentDelivery
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.membership.transitions import ACCEPTS_CHILDREN
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AddResult,
    ChildCost,
    OverheadAnswer,
    OverheadRequest,
)


class PlaceAnswers:
    """Offers a place, or passes the request on; states what a peer would cost here."""

    __slots__ = ("_attempts", "_delivery", "_position")

    def __init__(
        self, position: TreePosition, delivery: DocumentDelivery, attempts: AttachAttempts
    ) -> None:
        self._position = position
        self._delivery = delivery
        self._attempts = attempts

    def on_add(self, sender: str, message: Add, now: float) -> None:
        """A peer looks for a place: it may be here, or else at or below a child, or elsewhere."""
        position, overlap = self._position, self._delivery.overlap
        joiner = message.joiner
        is_useless = (
            not position.is_connected
            or joiner == position.name
            or joiner in position.path
            or message.hops >= ADD_HOPS_MAX
            or len(message.excluded) >= EXCLUDED_PEERS_MAX
            or len(message.costs) > DEPTH_MAX
        )
        if is_useless:
            position.send(joiner, AddRefused(position.source, message.join, message.seed))
            return
        if self._is_costed_first(message):
            route = (*position.path[1:], position.name)
            position.send(position.source, msgspec.structs.replace(message, route=route, hops=1))
            return
        bitmap = message.bitmap
        if bitmap is None and overlap.statistics.is_primed():
            bitmap = overlap.estimate(message.interest)
        cost = 0.0
        if bitmap is not None and not position.is_root:
            cost = overlap.missing(bitmap) or 0.0
        following = message.route[0] if message.route else None
        if following is not None and following in position.children:
            position.send(
                following,
                msgspec.structs.replace(
                    message,
                    bitmap=bitmap,
                    route=message.route[1:],
                    costs=(*message.costs, cost),
                    hops=message.hops + 1,
                ),
            )
            return
        if (
            position.state in ACCEPTS_CHILDREN
            and position.name not in message.excluded
            and (position.has_place_for(joiner) or self._passed_on_for(joiner) is not None)
        ):
            position.send(
                joiner,
                AddResult(
                    position.source,
                    join=message.join,
                    seed=message.seed,
                    cost=sum(message.costs) + cost,
                    depth=len(position.path),
                    bitmap=bitmap,
                    displaced=self._passed_on_for(joiner),
                ),
            )
            return
        child = overlap.max_overlap_child(
            message.interest, bitmap, without={joiner, *message.excluded}
        )
        excluded, costs = message.excluded, (*message.costs, cost)
        if child is None and position.parent is not None:
            # A dead end: the peer is full, and so is everything below it.
            child = position.parent.name
            excluded, costs = (*excluded, position.name), message.costs[:-1]
        if child is None:
            position.send(joiner, AddRefused(position.source, message.join, message.seed))
            return
        position.send(
            child,
            msgspec.structs.replace(
                message,
                bitmap=bitmap,
                route=(),
                costs=costs,
                excluded=excluded,
                hops=message.hops + 1,
            ),
        )

    def _is_costed_first(self, message: Add) -> bool:
        """Whether a request is to come down from the source: only there all documents are known
        that the joiner matches, and the ancestors of a seed count as well."""
        return (
            message.is_compared
            and message.hops == 0
            and not self._position.is_root
            and self._delivery.stream.cursor >= PRIMED_DOCUMENTS_MIN
        )

    def _passed_on_for(self, joiner: str) -> str | None:
        """The child whose place a peer takes that this one has displaced."""
        position, awaited = self._position, self._attempts.awaited
        if awaited is None or awaited.peer != joiner or position.has_place_for(joiner):
            return None
        can_pass_on = position.children.can_be_displaced(awaited.passed_on, joiner)
        return awaited.passed_on if can_pass_on else None

    def on_overhead_request(self, sender: str, message: OverheadRequest, now: float) -> None:
        """A peer may move, and asks what it would cost here."""
        position, overlap = self._position, self._delivery.overlap
        if not position.is_connected:
            return
        bitmap = message.bitmap
        is_root = position.is_root
        overhead = 0.0 if is_root else overlap.compute_overhead(bitmap)
        missing = 0.0 if is_root else overlap.missing(bitmap)
        is_comparable = overhead is not None and missing is not None
        costs = []
        for child in position.children.values():
            lacking = overlap.missing_at(child, bitmap) if child.is_active else None
            added = overlap.added_by(child, bitmap) if child.is_active else None
            if lacking is not None and added is not None:
                costs.append(ChildCost(child.name, lacking, added))
        branch = next((name for name in (sender, *message.path) if name in position.children), None)
        exclusive = None if branch is None or is_root else overlap.exclusive(branch, bitmap)
        position.send(
            sender,
            OverheadAnswer(
                position.source,
                search=message.search,
                accepts=(
                    is_comparable
                    and position.state in ACCEPTS_CHILDREN
                    and sender not in position.path
                    and position.host.spare_capacity() > 0
                ),
                overhead=overhead or 0.0,
                missing=missing or 0.0,
                exclusive=exclusive,
                children=tuple(costs),
            ),
        )
