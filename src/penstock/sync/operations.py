"""Operations: resolved changes of a document, on node identities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from penstock.language.updates.ast import Name
from penstock.sync.document_tree import DocumentTree, NewNode, NodeId, Place, derived_identity


@dataclass(frozen=True, slots=True)
class Insert:
    """A new subtree, its nodes in document order."""

    nodes: tuple[NewNode, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Delete:
    """Hides a node with its subtree."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class Restore:
    """Undoes the deletion of a node."""

    node: NodeId


@dataclass(frozen=True, slots=True)
class Move:
    """Moves a node with its subtree."""

    node: NodeId
    place: Place


@dataclass(frozen=True, slots=True)
class Copy:
    """Copies a subtree, as it is when the operation is applied."""

    source: NodeId
    operation: NodeId
    """An identity of the author that no node has; those of the copies are derived from it."""
    place: Place

    @property
    def top(self) -> NodeId:
        """The identity of the copy."""
        return derived_identity(self.operation, self.source)


@dataclass(frozen=True, slots=True)
class SetValue:
    """Sets the value of a text, comment or instruction."""

    node: NodeId
    value: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Renames an element."""

    node: NodeId
    name: Name


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """Sets an attribute, or removes it."""

    node: NodeId
    name: Name
    value: str | None


@dataclass(frozen=True, slots=True)
class CopyAttribute:
    """Sets an attribute to the value that it has at another element when this is applied."""

    source: NodeId
    name: Name
    node: NodeId


Operation: TypeAlias = (
    Insert | Delete | Restore | Move | Copy | SetValue | Rename | SetAttribute | CopyAttribute
)


def apply(operation: Operation, tree: DocumentTree) -> None:
    """Applies an operation, or raises and leaves the tree as it was."""
    match operation:
        case Insert(nodes, place):
            tree.insert(nodes, place)
        case Delete(node):
            tree.delete(node)
        case Restore(node):
            tree.restore(node)
        case Move(node, place):
            tree.move(node, place)
        case Copy(source, number, place):
            tree.copy(source, number, place)
        case SetValue(node, value):
            tree.set_value(node, value)
        case Rename(node, name):
            tree.rename(node, name)
        case SetAttribute(node, name, value):
            tree.set_attribute(node, name, value)
        case CopyAttribute(source, name, node):
            value = attribute_value(tree, source, name)
            if value is not None:
                tree.set_attribute(node, name, value)


def attribute_value(tree: DocumentTree, node: NodeId, name: Name) -> str | None:
    """The value of an attribute by its expanded name."""
    for each, value in tree.attributes(node).items():
        if (each.uri, each.local) == (name.uri, name.local):
            return value
    return None


def needed(operation: Operation) -> tuple[NodeId, ...]:
    """The nodes that must not be hidden for an operation to be applied."""
    match operation:
        case Insert(_, place):
            return (place.parent,)
        case Delete():
            return ()
        case Restore(node) | SetValue(node) | Rename(node) | SetAttribute(node):
            return (node,)
        case Move(node, place):
            return (node, place.parent)
        case Copy(source, _, place):
            return (source, place.parent)
        case CopyAttribute(source, _, node):
            return (source, node)


def created(operation: Operation) -> Iterable[NodeId]:
    """The identities that an operation gives to new nodes by itself, those of a copy excluded."""
    if isinstance(operation, Insert):
        return [node.id for node in operation.nodes]
    return [operation.operation] if isinstance(operation, Copy) else []
