"""The six operators that rewrite documents of a local schema to the global schema.

Operators refer to nodes of the local schema by their original path, wherever other operators have
moved them. An attribute that ``ToElement`` converted is named by its place as an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.documents import Name
from penstock.schema import NodePath, Place


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename a node or one of its attributes."""

    node: NodePath
    name: Name
    attribute: Name | None = None


@dataclass(frozen=True, slots=True)
class ToElement:
    """Convert an attribute to a child element, which precedes all other children."""

    node: NodePath
    attribute: Name
    name: Name


@dataclass(frozen=True, slots=True)
class Insert:
    """Move children into a new path of elements, which becomes the node's last child.

    ``children`` is ``None`` for ``Insert+``, which moves all. Nothing is inserted if it would be
    empty. The first ``shared`` elements of the path are created once for all Inserts at the node
    that share them.
    """

    node: NodePath
    path: tuple[Name, ...]
    children: frozenset[Place] | None
    shared: int = 0

    @property
    def shared_paths(self) -> tuple[tuple[Name, ...], ...]:
        """The paths of the shared elements, outermost first."""
        return tuple(self.path[: length + 1] for length in range(self.shared))


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Move children after the node, where they become its siblings, in order.

    ``children`` is ``None`` for ``Upgrade+``, which moves all.
    """

    node: NodePath
    children: frozenset[Place] | None


@dataclass(frozen=True, slots=True)
class Downgrade:
    """Move children to the end of another child, ``target``.

    Each of several targets gets a copy; without a target the children stay.
    """

    node: NodePath
    children: frozenset[Place]
    target: Place


@dataclass(frozen=True, slots=True)
class Exchange:
    """Invert parent and child.

    Each ``child`` gets, as its last child, a copy of the node without any ``child``; a node without
    such a child stays in place.
    """

    node: NodePath
    child: NodePath


Operator: TypeAlias = Rename | ToElement | Insert | Upgrade | Downgrade | Exchange

ORDER: tuple[type[Operator], ...] = (Exchange, ToElement, Downgrade, Insert, Upgrade, Rename)
"""Exchanges come first, each on the complete document; then, at each node, this order."""


def rank(operator: Operator) -> int:
    """The position of an operator's kind in :data:`ORDER`."""
    return ORDER.index(type(operator))


def blocks(operator: Operator, *, has_text: bool) -> bool:
    """Whether a streaming rewriter must buffer events; ``has_text``: the node may contain text.

    ``Insert+`` and ``Upgrade+`` forward everything from the first child on. Text does not move, so
    if the node may contain text, the children are buffered until its end. An ``Insert`` above the
    root never blocks, because it moves the root or nothing.
    """
    match operator:
        case Rename() | ToElement():
            return False
        case Insert(node=()):
            return False
        case Insert(children=None) | Upgrade(children=None):
            return has_text
        case _:
            return True
