"""A schema as a tree: one node per path from the root to an element.

Mediation annotates and compares these trees. A node is identified by its path of names, so siblings
have distinct names. Trees are immutable and compared by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.documents import Name
from penstock.language.relations.path_universe import Occurs

NodePath: TypeAlias = tuple[Name, ...]
"""The names from the root down to an element; empty for the virtual node above the root."""

ONCE = Occurs(required=True, many=False)
"""Cardinality of a root."""


@dataclass(frozen=True, slots=True)
class Place:
    """The path of an element or attribute in a schema tree.

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
    """An element node of the tree."""

    name: Name
    occurs: Occurs = ONCE
    """Cardinality below its parent."""
    text: bool = False
    """Whether it may directly contain text other than white space."""
    attributes: tuple[SchemaAttribute, ...] = ()
    children: tuple[SchemaNode, ...] = ()
    cut: bool = False
    """Whether the tree omits children that the schema allows."""

    def __post_init__(self) -> None:
        for what in (self.children, self.attributes):
            names = [each.name for each in what]
            if len(names) != len(set(names)):
                raise ValueError(f"two children or attributes of {self.name} have the same name")

    def child(self, name: Name) -> SchemaNode | None:
        """The child of this name, or ``None``."""
        return next((child for child in self.children if child.name == name), None)

    def attribute(self, name: Name) -> SchemaAttribute | None:
        """The attribute of this name, or ``None``."""
        return next((each for each in self.attributes if each.name == name), None)


@dataclass(frozen=True, slots=True)
class SchemaTree:
    """A schema unfolded from one root."""

    root: SchemaNode
    cut_at: frozenset[str] = frozenset()
    """The limits of :class:`~penstock.schema.UnfoldLimits` that truncated the tree; empty if it is
    complete."""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """Constraints of the schema that a tree cannot express, as text."""

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
