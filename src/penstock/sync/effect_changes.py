"""The label paths that an applied operation touches, for the search for affected clients."""

from __future__ import annotations

from collections.abc import Callable

from penstock.sync.affected.change import Change, ContentNode, LabelPath, TouchedNode
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NodeId, NodeKind
from penstock.sync.limits import LISTED_CONTENT_MAX, LISTED_LABELS_MAX
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
)


def apply_observed(
    operation: Operation, tree: DocumentTree, apply: Callable[[Operation, DocumentTree], None]
) -> Change | None:
    """Applies an operation; returns what it touches, ``None`` if nothing that is visible."""
    match operation:
        case Insert(nodes):
            apply(operation, tree)
            return _subtree(nodes[0].id, tree)
        case Copy():
            apply(operation, tree)
            return _subtree(operation.top, tree)
        case Restore(node):
            apply(operation, tree)
            return _subtree(node, tree)
        case Delete(node):
            change = _subtree(node, tree)
            apply(operation, tree)
            return change
        case Move(node):
            gone = _subtree(node, tree)
            apply(operation, tree)
            return _sum(gone, _subtree(node, tree))
        case Rename(node, name):
            path, content = tree.label_path(node), _content(node, tree)
            apply(operation, tree)
            return Change.rename(path, (name.uri, name.local), content=content)
        case SetValue(node):
            apply(operation, tree)
            return _leaf(node, tree)
        case SetAttribute(node, name) | CopyAttribute(_, name, node):
            apply(operation, tree)
            return Change.attribute(tree.label_path(node), (name.uri, name.local))


def _subtree(node: NodeId, tree: DocumentTree) -> Change | None:
    """A node with its subtree, which appears or disappears."""
    if not tree.is_live(node):
        return None
    if tree.node(node).kind is NodeKind.ELEMENT:
        return Change.insert(tree.label_path(node), content=_content(node, tree))
    return _leaf(node, tree)


def _leaf(node: NodeId, tree: DocumentTree) -> Change | None:
    parent = tree.parent(node)
    if parent is None or parent == DOCUMENT:
        return None
    path = tree.label_path(parent)
    return Change.text(path) if tree.node(node).kind is NodeKind.TEXT else Change.other(path)


def _content(node: NodeId, tree: DocumentTree) -> list[ContentNode] | None:
    """The nodes below an element and its attributes, each label path once; ``None`` if there are
    too many."""
    subtree = tree.subtree(node, LISTED_CONTENT_MAX + 1)
    if len(subtree) > LISTED_CONTENT_MAX:
        return None
    base = len(tree.label_path(node))
    found: dict[ContentNode, None] = {}
    labels = 0
    for each in subtree:
        kind = tree.node(each).kind
        whole_path = tree.label_path(each)
        labels += len(whole_path)
        if labels > LISTED_LABELS_MAX:
            return None
        path: LabelPath = whole_path[base:]
        if kind is NodeKind.ELEMENT:
            if path:
                found[ContentNode(path)] = None
            for name in tree.attributes(each):
                attribute = (name.uri, name.local)
                found[ContentNode(path, TouchedNode.ATTRIBUTE, attribute)] = None
        else:
            touched = TouchedNode.TEXT if kind is NodeKind.TEXT else TouchedNode.OTHER
            found[ContentNode(path, touched)] = None
    return list(found)


def _sum(first: Change | None, second: Change | None) -> Change | None:
    if first is None or second is None:
        return first or second
    return first + second
