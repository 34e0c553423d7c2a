"""How a membership ends, and what a peer does whose parent leaves."""

from __future__ import annotations

from penstock.overlay.membership.place_requests import JoinPart
from penstock.overlay.membership.transitions import (
    ATTEMPTS,
    HAS_PARENT,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    Detach,
    Leaving,
    NewParent,
    NotChild,
)
from penstock.overlay.peer_outputs import (
    Left,
)

_S = MembershipState
_I = MembershipInput


class LeavePart(JoinPart):
    """Hands the children over before the peer leaves."""

    def leave(self, now: float) -> None:
        """Leave the tree: at once, or when the children have found other parents."""
        if self.state in {_S.OUTSIDE, _S.LEAVING, _S.ROOT}:
            return
        if self.state in ATTEMPTS:
            self._abandon_attempt()
        if self.state in HAS_PARENT and any(child.is_active for child in self.children.values()):
            self._go(_I.LEAVE_INTERIOR)
            self.phase_at = now + self._options.leave_seconds
            self._hand_over()
        else:
            self._go(_I.LEAVE_LEAF)
            self._end_membership()

    def _children_changed(self, now: float) -> None:
        self._state_soon(now)
        if self.state is _S.LEAVING:
            self._hand_over()
            if not any(child.is_active for child in self.children.values()):
                self._go(_I.HANDED_OVER)
                self._end_membership()

    def _hand_over(self) -> None:
        """Ask the children to find other parents; the last one replaces this peer."""
        active = [child.name for child in self.children.values() if child.is_active]
        if not active or self.parent is None:
            return
        if self.replacement not in active:
            own = self.overlap.own_bitmap()
            self.replacement = self.overlap.max_overlap_child(self.own, own) or active[0]
        others = [name for name in active if name != self.replacement]
        for name in others:
            self._send(name, NewParent(self.source, self.replacement, is_replacement=False))
        if not others:
            self._send(self.parent, Leaving(self.source, self.replacement))
            self._send(self.replacement, NewParent(self.source, self.parent, is_replacement=True))

    def _on_leaving(self, sender: str, message: Leaving, now: float) -> None:
        child = self.children.get(sender)
        if child is not None and child.is_active:
            child.replacement = message.replacement

    def _on_new_parent(self, sender: str, message: NewParent, now: float) -> None:
        if sender != self.parent or message.peer == self.name:
            return
        if message.is_replacement:
            if not self.allows(_I.REPLACE) or self.is_locked:
                return
            self._go(_I.REPLACE)
            self.candidates = []
            self._asked_peer = message.peer
            self._start_attempt(message.peer, now)
        elif self.allows(_I.REINSERT):
            self._search = None
            self._go(_I.REINSERT)
            self._ask_places((message.peer,), now)

    def _reinsert_children(self) -> None:
        """This peer has replaced its parent: its own children look for the best place again."""
        is_replacement = self.parent == self._asked_peer
        self._asked_peer = None
        if not is_replacement:
            return
        for child in self.children.values():
            if child.is_active:
                self._send(child.name, NewParent(self.source, self.name, is_replacement=False))

    def _end_membership(self) -> None:
        if self.parent is not None and self.edge is not None:
            self._send(self.parent, Detach(self.source, self.edge))
        for child in self.children.values():
            self._send(child.name, NotChild(self.source, child.edge))
        self.children.clear()
        self.relays.clear()
        self.parent = self.edge = None
        self.path = ()
        self.replacement = None
        self._search = None
        self._update_aggregate()
        self.phase_at = self.heartbeat_at = self.statement_at = self.reorganise_at = None
        self._emit(Left(self.source))
