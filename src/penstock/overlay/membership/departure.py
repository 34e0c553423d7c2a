"""How a peer hands its children over before it leaves, and what they do."""

from __future__ import annotations

from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.attach_attempts import AttachAttempts
from penstock.overlay.membership.join_search import JoinSearch
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.membership.transitions import MembershipInput
from penstock.overlay.peer_messages import Leaving, NewParent
from penstock.overlay.tree_overlap import TreeOverlap

_I = MembershipInput


class Departure:
    """Chooses who takes the place of a leaving peer, and takes the place of a leaving parent."""

    __slots__ = (
        "_attempts",
        "_filter",
        "_join_search",
        "_overlap",
        "_position",
        "replaced_below",
        "replacement",
    )

    def __init__(
        self,
        position: TreePosition,
        filter_: AggregateFilter,
        overlap: TreeOverlap,
        attempts: AttachAttempts,
        join_search: JoinSearch,
    ) -> None:
        self._position = position
        self._filter = filter_
        self._overlap = overlap
        self._attempts = attempts
        self._join_search = join_search
        self.replacement: str | None = None
        """The child that takes the place of this peer."""
        self.replaced_below: str | None = None
        """Below which peer this one takes the place of its parent."""

    def hand_over(self) -> None:
        """Ask the children to find other parents; the last one replaces this peer."""
        position = self._position
        active = [child.name for child in position.children.active()]
        parent = position.parent
        if not active or parent is None:
            return
        if self.replacement not in active:
            own = self._overlap.own_bitmap()
            self.replacement = self._overlap.max_overlap_child(self._filter.own, own) or active[0]
        others = [name for name in active if name != self.replacement]
        for name in others:
            position.send(name, NewParent(position.source, self.replacement, is_replacement=False))
        if not others:
            position.send(parent.name, Leaving(position.source, parent.edge, self.replacement))
            position.send(
                self.replacement, NewParent(position.source, parent.name, is_replacement=True)
            )

    def on_leaving(self, sender: str, message: Leaving, now: float) -> None:
        """A child leaves, and another peer takes its place."""
        children = self._position.children
        child = children.by_edge(sender, message.edge)
        if child is not None and child.is_active:
            children.replace_on_leaving(child, message.replacement)

    def on_new_parent(self, sender: str, message: NewParent, now: float) -> None:
        """The parent leaves, or has displaced this peer."""
        position = self._position
        if not position.is_parent(sender) or message.peer == position.name:
            return
        if message.is_replacement:
            if not position.allows(_I.REPLACE) or self._filter.is_locked:
                return
            position.go(_I.REPLACE)
            self._attempts.candidates = []
            self.replaced_below = message.peer
            self._attempts.start(message.peer, now)
        elif position.allows(_I.REINSERT):
            position.go(_I.REINSERT)
            self._join_search.ask((message.peer,), now)

    def reinsert_children(self) -> None:
        """If this peer has replaced its parent, its own children look for the best place again."""
        position, above = self._position, self.replaced_below
        self.replaced_below = None
        if above is None or not position.is_parent(above):
            return
        for child in position.children.active():
            position.send(
                child.name, NewParent(position.source, position.name, is_replacement=False)
            )
