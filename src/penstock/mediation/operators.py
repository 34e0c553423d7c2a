"""The six operators by which a local schema's documents become the global schema's.

Operators name nodes of the local schema, not labels: by path where they stand in the local schema,
wherever other operators have moved them. An attribute that ``ToElement`` made an element is named
by its place as an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.documents import Name
from penstock.schema import NodePath, Place


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a node, or an attribute of it, another name."""

    node: NodePath
    name: Name
    attribute: Name | None = None


@dataclass(frozen=True, slots=True)
class ToElement:
    """Make an attribute a child element of this name; it comes before all other children."""

    node: NodePath
    attribute: Name
    name: Name


@dataclass(frozen=True, slots=True)
class Insert:
    """Move children into a new path of elements, which becomes the node's last child.

    ``children`` is ``None`` for ``Insert+``, which moves all. None is made where nothing would be
    in it.
    """

    node: NodePath
    path: tuple[Name, ...]
    children: frozenset[Place] | None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Move children behind the node, where they become its siblings, in order.

    ``children`` is ``None`` for ``Upgrade+``, which moves all.
    """

    node: NodePath
    children: frozenset[Place] | None


@dataclass(frozen=True, slots=True)
class Downgrade:
    """Move children into another child, ``target``, behind what is in it.

    Each of several targets gets a copy; without a target the children stay.
    """

    node: NodePath
    children: frozenset[Place]
    target: Place


@dataclass(frozen=True, slots=True)
class Exchange:
    """Turn parent and child round.

    Each ``child`` gets, as its last child, a copy of the node without any ``child``; a node without
    one stays where it is.
    """

    node: NodePath
    child: NodePath


Operator: TypeAlias = Rename | ToElement | Insert | Upgrade | Downgrade | Exchange

ORDER: tuple[type[Operator], ...] = (Exchange, ToElement, Downgrade, Insert, Upgrade, Rename)
"""Exchanges come first, each to the whole document; then, at each node, the rest in this order."""


def rank(operator: Operator) -> int:
    """Where an operator's kind stands in :data:`ORDER`."""
    return ORDER.index(type(operator))


def blocks(operator: Operator, *, has_text: bool) -> bool:
    """Whether a rewriter of events has to hold some back; ``has_text``: the node may have text.

    ``Insert+`` and ``Upgrade+`` let everything pass from the first child on. Text does not move, so
    where there can be any, the children must wait for the end of the node. An ``Insert`` above the
    root never waits: all that can be there is moved or nothing is.
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
