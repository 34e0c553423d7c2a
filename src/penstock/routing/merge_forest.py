"""The forest of patterns behind an aggregate: each root is a pattern of the aggregate, and contains
all patterns below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

from penstock.routing.containment_search import (
    ContainmentSearch,
    LabelIndex,
    containers_of_all,
)
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
    repeats_parent: bool | None = None
    """Whether the parent's pattern is equivalent; ``None`` if that is not known."""

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
        node.repeats_parent = None
        self.covered[node] = None
        self.covered_max = max(self.covered_max, len(self.covered))
        self.member_bits |= node.member_bits

    def is_repetition(self) -> bool:
        """Whether the same documents match the parent's pattern, as far as can be proved."""
        if self.repeats_parent is None:
            parent = self.parent
            self.repeats_parent = parent is not None and self.pattern.contains(parent.pattern)
        return self.repeats_parent

    def members_below(self) -> list[PatternNode]:
        """The nearest nodes below this one that are not merged."""
        found, waiting = [], list(self.covered)
        while waiting:
            node = waiting.pop()
            if node.is_merged:
                waiting += node.covered
            else:
                found.append(node)
        return found

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
        self.merged_roots: dict[Pattern, PatternNode] = {}
        """The roots that no member asked for."""
        self.fresh: dict[PatternNode, None] = {}
        """Roots since the last merge, for which no merge has been considered."""
        self.changed_roots: set[Pattern] = set()
        """Patterns that became roots or ceased to be; the owner clears it."""
        self.changed_nodes: dict[PatternNode, None] = {}
        """Nodes that were put below another or removed, or whose parent changed; the owner clears
        it."""
        self._new_neighbours = neighbours
        self._neighbours: NeighbourSource | None = None
        self._search = search()

    @property
    def neighbours(self) -> NeighbourSource:
        """Proposes roots to merge; made when it is needed, since most forests fit their bound."""
        if self._neighbours is None:
            self._neighbours = self._new_neighbours()
            for pattern in self.roots:
                self._neighbours.add(pattern)
        return self._neighbours

    def insert(self, node: PatternNode) -> None:
        """Add a node with its tree: below a root that contains it, else as a root."""
        assert node.parent is None, "only a detached node can be inserted"
        containers = [self.roots[pattern] for pattern in self._search.containers(node.pattern)]
        if containers:
            best = min(containers, key=_specificity)
            if not self._replaces(node, containers):
                self._cover(best, node)
                return
        for pattern in self._search.contained(node.pattern):
            inner = self.roots[pattern]
            self._remove_root(inner)
            self._cover(node, inner)
        self._add_root(node)

    def insert_all(self, nodes: Iterable[PatternNode]) -> None:
        """Add nodes; the result does not depend on their order."""
        ordered = sorted(nodes, key=insertion_order)
        if not self.roots:
            self._insert_first(ordered)
        else:
            for node in ordered:
                self.insert(node)

    def _insert_first(self, nodes: list[PatternNode]) -> None:
        """Adds the nodes of an empty forest, each below the most specific one that contains it."""
        assert not self.roots, "the nodes are compared with each other only"
        by_pattern: dict[Pattern, list[PatternNode]] = {}
        for node in sorted(nodes, key=_precedence):
            by_pattern.setdefault(node.pattern, []).append(node)
        first = [same[0] for same in by_pattern.values()]
        parents, equivalent = _most_specific_parents(first, containers_of_all(list(by_pattern)))
        for same in by_pattern.values():
            parents |= dict.fromkeys(same[1:], same[0])
            equivalent |= set(same[1:])
        depth = {node: len(_chain(node, parents)) for node in parents}
        # From the bottom upwards, because a node collects the bits of the members below it.
        for node in sorted(parents, key=lambda each: -depth[each]):
            self._cover(parents[node], node)
            node.repeats_parent = node in equivalent
        for node in nodes:
            if node not in parents:
                self._add_root(node)

    def merge(self, parts: Iterable[PatternNode], bound: Pattern, bits: MatchBits) -> PatternNode:
        """Replace roots by a pattern that contains them."""
        merged = PatternNode(bound, bits=bits)
        for part in parts:
            self._remove_root(part)
            self._cover(merged, part)
        self.insert(merged)
        return merged

    def size_after(self, bound: Pattern) -> int:
        """How many pattern nodes remain if a merge to a pattern is carried out.

        The merged pattern covers all roots that it contains, not only those it was made from.
        """
        covered = self._search.contained(bound)
        return self.size + bound.size - sum(pattern.size for pattern in covered)

    def leaves_less(self, bound: Pattern, size: int) -> bool:
        """Whether :meth:`size_after` is less than a size; faster."""
        return self._search.contains_more(bound, self.size + bound.size - size)

    def split(self, root: PatternNode, parts: Iterable[PatternNode]) -> None:
        """Replace a merged root by its parts, those directly below it or its members' patterns."""
        assert root.is_merged, "a member's own pattern is needed"
        self._remove_root(root)
        wanted = set(parts)
        loose: list[PatternNode] = []
        waiting = [root]
        while waiting:
            for part in self._released(waiting.pop()):
                (loose if part in wanted else waiting).append(part)
        self.insert_all(loose)

    def growth_of_split(self, root: PatternNode, parts: list[PatternNode]) -> int:
        """By how many pattern nodes the roots grow at most if a root is replaced by its parts."""
        if len(parts) > NARROWED_PATTERNS_MAX:
            return sum(part.pattern.size for part in parts) - root.pattern.size
        apart = MergeForest()
        apart.insert_all(
            PatternNode(part.pattern)
            for part in parts
            if all(above == root.pattern for above in self._search.containers(part.pattern))
        )
        return apart.size - root.pattern.size

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
            return self._released(node)
        del parent.covered[node]
        node.parent = None
        self.changed_nodes[node] = None
        loose = []
        for part in self._released(node):
            if parent.pattern.contains(part.pattern):
                self._cover(parent, part)
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
        node.repeats_parent = None
        for part in node.covered:
            part.repeats_parent = None
        return True

    def _add_root(self, node: PatternNode) -> None:
        self.roots[node.pattern] = node
        if node.is_merged:
            self.merged_roots[node.pattern] = node
        self.size += node.pattern.size
        if self._neighbours is not None:
            self._neighbours.add(node.pattern)
        self._search.add(node.pattern)
        self.fresh[node] = None
        self._root_changed(node)

    def _remove_root(self, node: PatternNode) -> None:
        assert self.roots.pop(node.pattern) is node, "a root is filed under its pattern"
        self.merged_roots.pop(node.pattern, None)
        self.size -= node.pattern.size
        if self._neighbours is not None:
            self._neighbours.discard(node.pattern)
        self._search.discard(node.pattern)
        self.fresh.pop(node, None)
        self._root_changed(node)

    def _root_changed(self, node: PatternNode) -> None:
        self.changed_roots.add(node.pattern)
        if node.is_merged:
            # It stands for the equivalent ones below it only while it is a root.
            self.changed_nodes.update(node.covered)

    def _cover(self, parent: PatternNode, node: PatternNode) -> None:
        parent.cover(node)
        self.changed_nodes[node] = None

    def _released(self, node: PatternNode) -> list[PatternNode]:
        """Takes the nodes below a node away from it."""
        parts = list(node.covered)
        node.covered.clear()
        for part in parts:
            part.parent = None
        self.changed_nodes.update(dict.fromkeys(parts))
        return parts


def _precedence(node: PatternNode) -> tuple[bool, int, str]:
    """Of equivalent nodes, the first stands for the others: a member's own pattern is exact."""
    return node.is_merged, node.pattern.size, node.pattern.key


def _most_specific_parents(
    nodes: list[PatternNode], containers: list[list[int]]
) -> tuple[dict[PatternNode, PatternNode], set[PatternNode]]:
    """The parent of each node that another contains; nodes are in the order of precedence.

    Equivalent nodes are below the first of them, and are also returned.
    """
    parents: dict[PatternNode, PatternNode] = {}
    equivalent: set[PatternNode] = set()
    for number, node in enumerate(nodes):
        above = containers[number]
        preceding = [each for each in above if each < number and number in containers[each]]
        if preceding:
            candidates = [nodes[each] for each in preceding]
        else:
            strict = [nodes[each] for each in above if number not in containers[each]]
            candidates = sorted(strict, key=_specificity)
        for parent in candidates:
            # Proofs are not transitive, so that three patterns might contain each other in a cycle.
            if node not in _chain(parent, parents):
                parents[node] = parent
                if preceding:
                    equivalent.add(node)
                break
    return parents, equivalent


def _chain(node: PatternNode, parents: dict[PatternNode, PatternNode]) -> list[PatternNode]:
    """A node and those above it."""
    chain = [node]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
    return chain


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
