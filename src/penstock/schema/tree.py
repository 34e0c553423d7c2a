"""A schema as a tree: one node for each way to reach an element from the root.

Mediation annotates such trees and compares them. A node is known by the path of names that leads
to it, so siblings never share a name. A tree is a value: equal to every tree of the same nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.documents import Name
from penstock.language.relations.universe import Occurs

NodePath: TypeAlias = tuple[Name, ...]
"""The names from the root down to an element; empty for the virtual node above the root."""

ONCE = Occurs(required=True, many=False)
"""How often a root occurs."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a schema tree by its path: an element, or an attribute of one.

    >>> str(Place((Name("", "shop"), Name("", "item")), Name("", "id")))
    '/shop/item/@id'
    """

    path: NodePath
    attribute: Name | None = None

    def __str__(self) -> str:
        parts = [str(name) for name in self.path]
        if self.attribute is not None:
            parts.append(f"@{self.attribute}")
        return "/" + "/".join(parts)


@dataclass(frozen=True, slots=True)
class SchemaAttribute:
    """An attribute of a schema node."""

    name: Name
    required: bool = False


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """An element at one place of the tree."""

    name: Name
    occurs: Occurs = ONCE
    """How often below one parent."""
    text: bool = False
    """Whether text other than white space may stand directly in it."""
    attributes: tuple[SchemaAttribute, ...] = ()
    children: tuple[SchemaNode, ...] = ()
    cut: bool = False
    """Whether the schema allows children here that the tree leaves out."""

    def __post_init__(self) -> None:
        for what in (self.children, self.attributes):
            names = [each.name for each in what]
            if len(names) != len(set(names)):
                raise ValueError(f"two children or attributes of {self.name} have the same name")

    def child(self, name: Name) -> SchemaNode | None:
        """The child of this name, if there is one."""
        return next((child for child in self.children if child.name == name), None)

    def attribute(self, name: Name) -> SchemaAttribute | None:
        """The attribute of this name, if there is one."""
        return next((each for each in self.attributes if each.name == name), None)


@dataclass(frozen=True, slots=True)
class SchemaTree:
    """A schema unfolded from one root."""

    root: SchemaNode
    cut_at: frozenset[str] = frozenset()
    """The limits of :class:`~penstock.schema.UnfoldLimits` that cut the tree; empty when it is
    whole."""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """What the schema says that a tree cannot express, in words."""

    def nodes(self) -> dict[NodePath, SchemaNode]:
        """Every node by its path, in document order."""
        return dict(self._walk())

    def places(self) -> Iterator[Place]:
        """The place of every element and attribute, in document order."""
        for path, node in self._walk():
            yield Place(path)
            for attribute in node.attributes:
                yield Place(path, attribute.name)

    def _walk(self) -> Iterator[tuple[NodePath, SchemaNode]]:
        waiting: list[tuple[NodePath, SchemaNode]] = [((self.root.name,), self.root)]
        while waiting:
            path, node = waiting.pop()
            yield path, node
            waiting.extend(((*path, child.name), child) for child in reversed(node.children))
