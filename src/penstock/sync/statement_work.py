"""What it costs to apply the operations of a statement, counted before they are applied."""

from __future__ import annotations

from contextlib import suppress

from penstock.errors import PenstockError, error
from penstock.sync.document_tree import DocumentTree, NodeId
from penstock.sync.limits import LISTED_CONTENT_MAX, STATEMENT_WORK_MAX
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


class StatementWork:
    """Counts the nodes that a statement creates, and those that it touches.

    Parameters
    ----------
    tree
        What the statement is applied to.
    nodes_max
        Nodes that the statement may create.
    """

    def __init__(self, tree: DocumentTree, nodes_max: int) -> None:
        self._tree = tree
        self._nodes_max = nodes_max
        self._created = 0
        self.touched = 0
        """Nodes above what was changed so far, and inside it."""
        self._is_exceeded = False

    def add(self, operation: Operation) -> None:
        """Counts an operation that is about to be applied.

        Raises
        ------
        UpdateError
            ``update.limit``: the operation exceeds a limit, or an earlier one did.
        """
        if not self._is_exceeded:
            # An operation that refers to a node that does not exist is refused for that.
            with suppress(PenstockError):
                self._count(operation)
        if self._created > self._nodes_max:
            self._is_exceeded = True
            raise error("update.limit", "the statement creates too many nodes")
        if self.touched > STATEMENT_WORK_MAX:
            self._is_exceeded = True
            raise error("update.limit", "the statement touches too many nodes")

    def _count(self, operation: Operation) -> None:
        match operation:
            case Insert(nodes, place):
                self._created += len(nodes)
                self.touched += len(nodes)
                self._rise(place.parent)
            case Copy(source, _, place):
                self._rise(source, place.parent)
                size = self._size(source, self._nodes_max - self._created)
                self._created += size
                self.touched += size
            case Move(node, place):
                self._rise(node, place.parent)
                self.touched += self._size(node, STATEMENT_WORK_MAX - self.touched)
            case Delete(node) | Restore(node) | Rename(node):
                self._rise(node)
                self.touched += self._size(node, LISTED_CONTENT_MAX)
            case SetValue(node) | SetAttribute(node):
                self._rise(node)
            case CopyAttribute(source, _, node):
                self._rise(source, node)

    def _rise(self, *nodes: NodeId) -> None:
        """Counts the nodes above others."""
        for node in nodes:
            self.touched += len(self._tree.label_path(node))

    def _size(self, node: NodeId, count_max: int) -> int:
        """The nodes of a subtree, not many more than a number."""
        return len(self._tree.present_subtree(node, max(0, count_max) + 1))
