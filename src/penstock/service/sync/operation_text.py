"""Operations and nodes as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from penstock.errors import PenstockError
from penstock.language.updates.ast import Name
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NewNode, NodeId, NodeKind
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

VALUE_CHARACTERS_MAX: Final = 200
"""Characters of a value that are shown."""

NEW: Final = "(new)"
"""Instead of the path to a node that a tree does not have."""

_STEPS: Final = {
    NodeKind.TEXT: "text()",
    NodeKind.COMMENT: "comment()",
    NodeKind.INSTRUCTION: "pi()",
}


@dataclass(frozen=True, slots=True)
class OperationText:
    """An operation for people."""

    operation: str
    path: str
    """Of the node that it is about, on the tree before the statement."""
    before: str | None = None
    after: str | None = None

    def __str__(self) -> str:
        match self.operation:
            case "insert" | "copy":
                return f"{self.operation} in {self.path}: {self.after}"
            case "move":
                return f"move {self.path} to {self.after}"
            case "rename":
                return f"rename {self.path} to {self.after}"
            case "set" if self.after is None:
                return f"remove {self.path}"
            case "set" if self.before is None:
                return f"set {self.path} to {self.after!r}"
            case "set":
                return f"set {self.path} from {self.before!r} to {self.after!r}"
            case _:
                return f"{self.operation} {self.path}"


class NodePaths:
    """Paths to the nodes of a tree that does not change, as statements write them.

    Positions count from 0. Those of siblings are computed once: a statement may have many
    operations on the children of one element.

    Examples
    --------
    >>> paths = NodePaths(DocumentTree.read(b"<menu><dish/><dish>soup</dish></menu>"))
    >>> paths.path("0.4")
    '/menu/dish[1]/text()'
    """

    def __init__(self, tree: DocumentTree) -> None:
        self.tree = tree
        self._paths: dict[NodeId, str] = {DOCUMENT: ""}

    def path(self, node: NodeId) -> str:
        """The path to a node; ``(new)`` if the tree does not have it."""
        try:
            if not self.tree.is_live(node):
                return NEW
        except PenstockError:
            return NEW
        unknown: list[NodeId] = []
        at = node
        while at not in self._paths:
            at = self.tree.parent(at) or DOCUMENT
            unknown.append(at)
        for parent in reversed(unknown):
            self._add_children(parent)
        return self._paths[node] or "/"

    def _add_children(self, parent: NodeId) -> None:
        labelled = [(child, self._label(child)) for child in self.tree.children(parent)]
        counts = Counter(label for _, label in labelled)
        seen: Counter[str] = Counter()
        for child, label in labelled:
            step = label if counts[label] < 2 else f"{label}[{seen[label]}]"
            seen[label] += 1
            self._paths[child] = f"{self._paths[parent]}/{step}"

    def _label(self, node: NodeId) -> str:
        found = self.tree.node(node)
        return _STEPS.get(found.kind) or str(found.name)


def describe(operations: Iterable[Operation], tree: DocumentTree) -> Iterator[OperationText]:
    """Describes the operations of a statement, with paths on the tree before it."""
    paths = NodePaths(tree)
    for operation in operations:
        try:
            yield _describe(operation, paths)
        except PenstockError as refused:
            yield OperationText(type(operation).__name__.lower(), refused.message)


def _describe(operation: Operation, paths: NodePaths) -> OperationText:
    tree, path = paths.tree, paths.path
    match operation:
        case Insert(nodes, place):
            return OperationText("insert", path(place.parent), after=_short(_markup(nodes)))
        case Delete(node):
            return OperationText("delete", path(node), before=_short(tree.string_value(node)))
        case Restore(node):
            return OperationText("restore", node)
        case Move(node, place):
            return OperationText("move", path(node), after=path(place.parent))
        case Copy(source, _, place):
            return OperationText("copy", path(place.parent), after=path(source))
        case SetValue(node, value):
            before = tree.node(node).value
            return OperationText("set", path(node), _short(before), _short(value))
        case Rename(node, name):
            return OperationText("rename", path(node), after=str(name))
        case SetAttribute(node, name, new):
            return _attribute(paths, node, name, new)
        case CopyAttribute(source, name, node):
            return _attribute(paths, node, name, attribute_value(tree, source, name))


def _attribute(paths: NodePaths, node: NodeId, name: Name, new: str | None) -> OperationText:
    before = attribute_value(paths.tree, node, name)
    return OperationText(
        "set",
        f"{paths.path(node)}/@{name}",
        None if before is None else _short(before),
        None if new is None else _short(new),
    )


def _markup(nodes: Iterable[NewNode]) -> str:
    """A subtree in the manner of XML; special characters are not escaped."""
    parts: list[str] = []
    open_: list[tuple[int, Name]] = []
    for node in nodes:
        while open_ and open_[-1][0] >= node.depth:
            parts.append(f"</{open_.pop()[1]}>")
        match node.kind:
            case NodeKind.ELEMENT:
                attributes = "".join(f' {name}="{value}"' for name, value in node.attributes)
                parts.append(f"<{node.name}{attributes}>")
                open_.append((node.depth, node.name))
            case NodeKind.COMMENT:
                parts.append(f"<!--{node.value}-->")
            case NodeKind.INSTRUCTION:
                parts.append(f"<?{node.name} {node.value}?>")
            case _:
                parts.append(node.value)
    parts += [f"</{name}>" for _, name in reversed(open_)]
    return "".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}…"
