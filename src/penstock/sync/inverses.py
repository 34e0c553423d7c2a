"""The inverse of an operation, which undoes it, and its repetition, which does it again."""

from __future__ import annotations

from penstock.sync.document_tree import DocumentTree, NodeId, Place
from penstock.sync.operations import (
    Copy,
    CopyAttribute,
    Delete,
    Insert,
    Move,
    Operation,
    Rename,
    Restore,
    SetAttribute,
    SetValue,
    attribute_value,
)


def inverse(operation: Operation, tree: DocumentTree) -> Operation:
    """The operation that undoes another, which is about to be applied to the tree."""
    match operation:
        case Insert(nodes):
            return Delete(nodes[0].id)
        case Copy():
            return Delete(operation.top)
        case Delete(node):
            return Restore(node)
        case Restore(node):
            return Delete(node)
        case Move(node):
            return Move(node, place_of(tree, node))
        case SetValue(node):
            return SetValue(node, tree.node(node).value)
        case Rename(node):
            return Rename(node, tree.node(node).name)
        case SetAttribute(node, name) | CopyAttribute(_, name, node):
            return SetAttribute(node, name, attribute_value(tree, node, name))


def repetition(operation: Operation) -> Operation:
    """The operation that does another again, which was undone: nodes are created once."""
    match operation:
        case Insert(nodes):
            return Restore(nodes[0].id)
        case Copy():
            return Restore(operation.top)
        case _:
            return operation


def place_of(tree: DocumentTree, node: NodeId) -> Place:
    """The place of a node, beside its visible siblings."""
    parent = tree.parent(node)
    assert parent is not None
    before, after = tree.neighbours(node)
    anchors = [(each, is_after) for each, is_after in ((before, True), (after, False)) if each]
    return Place(parent, tuple(anchors))
