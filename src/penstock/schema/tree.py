"""A schema unfolded to a tree: one node for each way to reach an element from a root.

Mediation annotates such a tree. A recursive schema has no finite tree, so unfolding stops at named
limits, and the tree says at which.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.language.universe import Occurs
from penstock.schema.limits import UNFOLD_LIMITS, UnfoldLimits
from penstock.schema.model import Element


@dataclass(slots=True, eq=False)
class SchemaNode:
    """An element at one place of the tree; ``occurs`` says how often below its parent."""

    element: Element
    parent: SchemaNode | None
    occurs: Occurs
    children: tuple[SchemaNode, ...] = ()
    cut: bool = False
    """Whether the schema allows children here that the tree leaves out."""

    @property
    def label(self) -> str:
        """The element's label."""
        return self.element.name

    @property
    def path(self) -> tuple[str, ...]:
        """The labels from the root down to here."""
        return (*self.parent.path, self.label) if self.parent else (self.label,)

    def walk(self) -> Iterator[SchemaNode]:
        """This node and all below, in document order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(frozen=True, slots=True, eq=False)
class SchemaTree:
    """A schema unfolded from one root."""

    root: SchemaNode
    cut_at: frozenset[str]
    """The limits of :class:`UnfoldLimits` that cut the tree; empty when it is whole."""

    @classmethod
    def unfold(
        cls, elements: Mapping[str, Element], root: str, limits: UnfoldLimits = UNFOLD_LIMITS
    ) -> SchemaTree:
        """Unfold breadth first, so that what is cut is what lies deepest."""
        top = SchemaNode(elements[root], None, Occurs(required=True, many=False))
        cut_at: set[str] = set()
        waiting: deque[tuple[SchemaNode, tuple[str, ...]]] = deque([(top, (root,))])
        size = 1
        while waiting:
            node, path = waiting.popleft()
            children = []
            for label, occurs in node.element.children.items():
                limit = _limit_reached(label, path, size, limits)
                if limit:
                    cut_at.add(limit)
                    node.cut = True
                    continue
                child = SchemaNode(elements[label], node, occurs)
                children.append(child)
                waiting.append((child, (*path, label)))
                size += 1
            node.children = tuple(children)
        return cls(top, frozenset(cut_at))

    def __iter__(self) -> Iterator[SchemaNode]:
        return self.root.walk()


def _limit_reached(
    label: str, path: tuple[str, ...], size: int, limits: UnfoldLimits
) -> str | None:
    if len(path) >= limits.depth_max:
        return "depth_max"
    if path.count(label) >= limits.recursion_max:
        return "recursion_max"
    if size >= limits.size_max:
        return "size_max"
    return None
