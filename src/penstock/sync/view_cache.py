"""The restrictions that a server compares, kept as long as they stay what they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.sync.conflicts import touched
from penstock.sync.document_tree import DocumentTree, NodeId, View
from penstock.sync.limits import CACHED_VIEW_NODES_MAX, TOUCHED_NODES_MAX
from penstock.sync.operations import CopyAttribute, Operation, Rename, SetAttribute, SetValue
from penstock.sync.subscription import SyncSubscription
from penstock.sync.update_log import LogEntry


@dataclass(slots=True)
class _KnownView:
    """The restriction to a subscription, at a version and some after it."""

    view: View
    first: int
    reselected: int | None = None
    """The version from which on the subscription may select other nodes."""


class ViewCache:
    """Restrictions and patches; clients with equal subscriptions share them.

    A restriction is evaluated again only when the subscription may select other nodes. When it
    selects the same nodes, but there may be others inside of them, the nodes are only collected
    again; and when nothing was inserted, removed or moved, the restriction has the same nodes. So a
    client that a search finds in vain mostly costs no evaluation.

    Views are valid until nodes of the tree are forgotten.
    """

    def __init__(self, tree: DocumentTree) -> None:
        self._tree = tree
        self._version = -1
        self._known: dict[SyncSubscription, _KnownView] = {}
        """The latest view of each subscription, the least recently used first."""
        self._replaced: dict[SyncSubscription, _KnownView] = {}
        """The views before those that this round made."""
        self._nodes = 0
        self._restructured: list[int] = []
        """The versions from which on nodes were inserted, removed or moved, ascending."""
        self._patches: dict[tuple[SyncSubscription, SyncSubscription, int], bytes | None] = {}
        self._before = -1
        """The version before the round."""
        self._touched: dict[NodeId, None] = {}
        """The nodes that the round touched, and their parents."""
        self._untouched: dict[SyncSubscription, bool] = {}

    def begin_round(
        self, version: int, entries: Sequence[LogEntry], reselecting: Iterable[SyncSubscription]
    ) -> None:
        """The tree has a new version.

        Parameters
        ----------
        version
            The version.
        entries
            The entries of the log since the last round.
        reselecting
            The subscriptions that may select other nodes than in the last round.
        """
        self._patches = {}
        self._replaced = {}
        while self._nodes > CACHED_VIEW_NODES_MAX:
            self._nodes -= len(self._known.pop(next(iter(self._known))).view)
        self._version = version
        self._touched, self._untouched = {}, {}
        if not entries:
            return
        first = entries[0].version
        self._before = first - 1
        for entry in entries:
            for effect in entry.effects:
                self._touch(touched(effect))
        if any(_is_structural(effect) for entry in entries for effect in entry.effects):
            self._restructured.append(first)
        for subscription in reselecting:
            known = self._known.get(subscription)
            if known is not None and known.reselected is None:
                known.reselected = first

    def forget(self, subscription: SyncSubscription) -> None:
        """No client has a subscription any more, so that rounds do not name it."""
        known = self._known.pop(subscription, None)
        if known is not None:
            self._nodes -= len(known.view)

    def clear(self) -> None:
        """Nodes of the tree are forgotten."""
        self._known, self._replaced, self._patches = {}, {}, {}
        self._nodes = 0
        self._restructured = []

    def current(self, subscription: SyncSubscription) -> View:
        """The restriction of the document."""
        known = self._known.pop(subscription, None)
        if known is None or not self._is_exact(known, self._version):
            if known is not None:
                self._replaced[subscription] = known
                self._nodes -= len(known.view)
            if known is None or known.reselected is not None:
                view = self._tree.view(subscription.compiled)
            else:
                view = self._tree.view_of_same_selection(known.view)
            known = _KnownView(view, self._version)
            self._nodes += len(view)
        self._known[subscription] = known
        return known.view

    def _touch(self, node: NodeId) -> None:
        self._touched[node] = None
        parent = self._tree.parent(node) if self._tree.exists(node) else None
        if parent is not None:
            self._touched[parent] = None

    def is_untouched(self, subscription: SyncSubscription) -> bool:
        """Whether the round certainly left the restriction as it was.

        A node that appears in a restriction is selected, which makes the subscription one that may
        select other nodes, or has its parent in it.
        """
        if subscription not in self._untouched:
            known = self._known.get(subscription)
            self._untouched[subscription] = (
                known is not None
                and known.reselected is None
                and len(self._touched) <= TOUCHED_NODES_MAX
                and self._is_exact(known, self._before)
                and not any(self._tree.is_in_view(node, known.view) for node in self._touched)
            )
            if known is not None and self._untouched[subscription]:
                known.first = self._version
        return self._untouched[subscription]

    def _is_exact(self, known: _KnownView, version: int) -> bool:
        """Whether a view is that of a version."""
        if version < known.first or (known.reselected is not None and version >= known.reselected):
            return False
        at = bisect_right(self._restructured, known.first)
        return at == len(self._restructured) or version < self._restructured[at]

    def _at(self, subscription: SyncSubscription, version: int) -> View:
        if version == self._version:
            return self.current(subscription)
        for views in (self._known, self._replaced):
            known = views.get(subscription)
            if known is not None and self._is_exact(known, version):
                return known.view
        with self._tree.at_version(version):
            return self._tree.view(subscription.compiled)

    def patch(self, before: SyncSubscription, after: SyncSubscription, since: int) -> bytes | None:
        """The patch from one restriction, at a version, to another, now."""
        key = before, after, since
        if key not in self._patches:
            new = self.current(after)
            self._patches[key] = self._tree.patch(self._at(before, since), new, since=since)
        return self._patches[key]


def _is_structural(effect: Operation) -> bool:
    """Whether an operation may change which nodes there are, and where."""
    return not isinstance(effect, SetValue | SetAttribute | CopyAttribute | Rename)
