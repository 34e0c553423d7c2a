"""The forest of patterns behind an aggregate: each root is a pattern of the aggregate, and contains
all patterns below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

from penstock.routing.containment_search import ContainmentSearch, LabelIndex
from penstock.routing.limits import NARROWED_PATTERNS_MAX
from penstock.routing.neighbours import NeighbourOrders, NeighbourSource
from penstock.routing.pattern_generalisation import upper_bounds
from penstock.routing.patterns import Pattern
from penstock.routing.synopsis import MatchBits


@dataclass(eq=False, slots=True)
class PatternNode:
    """A pattern with the patterns that it covers.

    A node without ids is *merged*: its pattern is an upper bound that no member asked for.
    """

    pattern: Pattern
    ids: set[str] = field(default_factory=set)
    """The members that have this pattern."""
    bits: MatchBits = 0
    """The sampled documents that match the pattern."""
    member_bits: MatchBits = 0
    """The sampled documents that match a member at or below this node."""
    parent: PatternNode | None = None
    covered: dict[PatternNode, None] = field(default_factory=dict)
    """Nodes whose patterns this one contains; a set in the order of insertion."""
    covered_max: int = 0
    """The greatest number of covered nodes since the node was created."""

    @property
    def is_merged(self) -> bool:
        """Whether no member has this pattern."""
        return not self.ids

    @property
    def false_documents(self) -> int:
        """Number of sampled documents that match the pattern and no member below."""
        return (self.bits & ~self.member_bits).bit_count()

    def cover(self, node: PatternNode) -> None:
        """Put a node, which is a root or new, below this one."""
        assert node.parent is None, "a node is below one other only"
        node.parent = self
        self.covered[node] = None
        self.covered_max = max(self.covered_max, len(self.covered))
        self.member_bits |= node.member_bits

    def subtree(self) -> Iterator[PatternNode]:
        """This node and all below it; not recursive, because a forest can be deep."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.covered


def insertion_order(node: PatternNode) -> tuple[int, str]:
    """Small patterns first, because they contain others."""
    return node.pattern.size, node.pattern.key


class MergeForest:
    """Patterns in a forest; no root contains another, as far as can be proved.

    Each node is proved to contain what is directly below it. So a root contains everything in its
    tree.
    """

    def __init__(
        self,
        *,
        search: Callable[[], ContainmentSearch] = LabelIndex,
        neighbours: Callable[[], NeighbourSource] = NeighbourOrders,
    ) -> None:
        self.roots: dict[Pattern, PatternNode] = {}
        self.size = 0
        """Pattern nodes of all roots."""
        self.neighbours = neighbours()
        self.fresh: dict[PatternNode, None] = {}
        """Roots since the last merge, for which no merge has been considered."""
        self._search = search()

    def insert(self, node: PatternNode) -> None:
        """Add a node with its tree: below a root that contains it, else as a root."""
        assert node.parent is None, "only a detached node can be inserted"
        containers = [self.roots[pattern] for pattern in self._search.containers(node.pattern)]
        if containers:
            best = min(containers, key=_specificity)
            if not self._replaces(node, containers):
                best.cover(node)
                return
        for pattern in self._search.contained(node.pattern):
            inner = self.roots[pattern]
            self._remove_root(inner)
            node.cover(inner)
        self._add_root(node)

    def insert_all(self, nodes: Iterable[PatternNode]) -> None:
        """Add nodes in a fixed order."""
        for node in sorted(nodes, key=insertion_order):
            self.insert(node)

    def merge(self, parts: Iterable[PatternNode], bound: Pattern, bits: MatchBits) -> PatternNode:
        """Replace roots by a pattern that contains them."""
        merged = PatternNode(bound, bits=bits)
        for part in parts:
            self._remove_root(part)
            merged.cover(part)
        self.insert(merged)
        return merged

    def split(self, root: PatternNode) -> None:
        """Replace a merged root by what is below it."""
        assert root.is_merged, "a member's own pattern is needed"
        self._remove_root(root)
        self.insert_all(_released(root))

    def growth_of_split(self, root: PatternNode) -> int:
        """By how many pattern nodes the aggregate grows at most if a root is split."""
        parts = list(root.covered)
        if len(parts) <= NARROWED_PATTERNS_MAX:
            apart = MergeForest()
            apart.insert_all(PatternNode(part.pattern) for part in parts)
            return apart.size - root.pattern.size
        return sum(part.pattern.size for part in parts) - root.pattern.size

    def remove(self, nodes: Iterable[PatternNode]) -> list[PatternNode]:
        """Remove nodes whose last member is gone; narrow or dissolve what was merged from them.

        Returns
        -------
        The narrowed nodes, whose bits are to be evaluated.
        """
        loose: list[PatternNode] = []
        diminished: dict[PatternNode, None] = {}
        # From the bottom upwards, so that no node is released before it is removed.
        for node in sorted(nodes, key=_depth, reverse=True):
            if node.parent is not None:
                diminished[node.parent] = None
            loose += self._dissolve(node)
        narrowed = self._settle(diminished, loose)
        self.insert_all(loose)
        return [node for node in narrowed if node.covered]

    @staticmethod
    def _replaces(node: PatternNode, containers: list[PatternNode]) -> bool:
        """Whether a member's pattern is equivalent to a merged root, and so better: it is exact."""
        return (
            not node.is_merged
            and len(containers) == 1
            and containers[0].is_merged
            and node.pattern.contains(containers[0].pattern)
        )

    def _settle(
        self, diminished: dict[PatternNode, None], loose: list[PatternNode]
    ) -> list[PatternNode]:
        """Dissolves or narrows merged nodes that lost a part, from the bottom upwards."""
        narrowed: list[PatternNode] = []
        while diminished:
            node = max(diminished, key=_depth)
            del diminished[node]
            parent = node.parent
            if not node.is_merged or (parent is None and self.roots.get(node.pattern) is not node):
                continue  # needed as it is, or dissolved meanwhile
            node.member_bits = _member_bits(node)
            if len(node.covered) < 2 or 2 * len(node.covered) <= node.covered_max:
                loose += self._dissolve(node)
            elif self._narrow(node, loose):
                narrowed.append(node)
            if parent is not None:
                diminished[parent] = None
        return narrowed

    def _dissolve(self, node: PatternNode) -> list[PatternNode]:
        """Removes a node; what it covered goes to its parent, or is returned.

        The parent contains it, but that may not be provable in one step.
        """
        parent = node.parent
        if parent is None:
            self._remove_root(node)
            return _released(node)
        del parent.covered[node]
        node.parent = None
        loose = []
        for part in _released(node):
            if parent.pattern.contains(part.pattern):
                parent.cover(part)
            else:
                loose.append(part)
        return loose

    def _narrow(self, node: PatternNode, loose: list[PatternNode]) -> bool:
        """Derives a merged pattern from its remaining parts, if that is more specific."""
        if len(node.covered) > NARROWED_PATTERNS_MAX:
            return False
        parts = [part.pattern for part in sorted(node.covered, key=insertion_order)]
        bound = reduce(lambda one, two: next(upper_bounds(one, two)), parts)
        above = [node.pattern] if node.parent is None else [node.pattern, node.parent.pattern]
        if (
            bound.contains(node.pattern)
            or not all(each.contains(bound) for each in above)
            or not all(bound.contains(each) for each in parts)
        ):
            return False
        if node.parent is None:
            self._remove_root(node)
            loose.append(node)
        node.pattern = bound
        return True

    def _add_root(self, node: PatternNode) -> None:
        self.roots[node.pattern] = node
        self.size += node.pattern.size
        self.neighbours.add(node.pattern)
        self._search.add(node.pattern)
        self.fresh[node] = None

    def _remove_root(self, node: PatternNode) -> None:
        assert self.roots.pop(node.pattern) is node, "a root is filed under its pattern"
        self.size -= node.pattern.size
        self.neighbours.discard(node.pattern)
        self._search.discard(node.pattern)
        self.fresh.pop(node, None)


def _released(node: PatternNode) -> list[PatternNode]:
    parts = list(node.covered)
    node.covered.clear()
    for part in parts:
        part.parent = None
    return parts


def _specificity(node: PatternNode) -> tuple[int, int, str]:
    """The most specific node comes first."""
    return node.bits.bit_count(), -node.pattern.size, node.pattern.key


def _depth(node: PatternNode) -> int:
    depth = 0
    while node.parent is not None:
        node, depth = node.parent, depth + 1
    return depth


def _member_bits(node: PatternNode) -> MatchBits:
    """The sampled documents that match a member below a merged node."""
    return reduce(lambda bits, part: bits | part.member_bits, node.covered, 0)
