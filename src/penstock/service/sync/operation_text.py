"""Operations and nodes as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from penstock.errors import PenstockError
from penstock.language.updates.ast import Name
from penstock.sync.document_tree import DocumentTree, NewNode, NodeId, NodeKind
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
    apply,
    attribute_value,
)

VALUE_CHARACTERS_MAX: Final = 200
"""Characters of a value that are shown."""

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
    """Of the node that it is about, on the tree before it."""
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


def node_path(tree: DocumentTree, node: NodeId) -> str:
    """The path to a node as statements write it; positions count from 0.

    Examples
    --------
    >>> tree = DocumentTree.read(b"<menu><dish/><dish>soup</dish></menu>")
    >>> node_path(tree, "0.4")
    '/menu/dish[1]/text()'
    """
    steps: list[str] = []
    at: NodeId | None = node
    while at is not None and (parent := tree.parent(at)) is not None:
        found = tree.node(at)
        label = _label(found.kind, found.name)
        alike = [
            each
            for each in tree.children(parent)
            if _label((other := tree.node(each)).kind, other.name) == label
        ]
        steps.append(label if len(alike) < 2 else f"{label}[{alike.index(at)}]")
        at = parent
    return "/" + "/".join(reversed(steps))


def _label(kind: NodeKind, name: Name) -> str:
    return _STEPS.get(kind) or str(name)


def known_path(node: NodeId, *trees: DocumentTree) -> str | None:
    """The path to a node in the first tree that has it."""
    for tree in trees:
        try:
            if tree.is_live(node):
                return node_path(tree, node)
        except PenstockError:
            continue
    return None


def describe(operations: Iterable[Operation], tree: DocumentTree) -> Iterator[OperationText]:
    """Describes operations, each on the tree to which those before it are applied."""
    for operation in operations:
        try:
            text = _describe(operation, tree)
            apply(operation, tree)
        except PenstockError as refused:
            yield OperationText(type(operation).__name__.lower(), refused.message)
        else:
            yield text


def _describe(operation: Operation, tree: DocumentTree) -> OperationText:
    match operation:
        case Insert(nodes, place):
            return OperationText(
                "insert", node_path(tree, place.parent), after=_short(_markup(nodes))
            )
        case Delete(node):
            return OperationText(
                "delete", node_path(tree, node), before=_short(tree.string_value(node))
            )
        case Restore(node):
            return OperationText("restore", node)
        case Move(node, place):
            return OperationText("move", node_path(tree, node), after=node_path(tree, place.parent))
        case Copy(source, _, place):
            return OperationText(
                "copy", node_path(tree, place.parent), after=node_path(tree, source)
            )
        case SetValue(node, value):
            before = tree.node(node).value
            return OperationText("set", node_path(tree, node), _short(before), _short(value))
        case Rename(node, name):
            return OperationText("rename", node_path(tree, node), after=str(name))
        case SetAttribute(node, name, new):
            return _attribute(tree, node, name, new)
        case CopyAttribute(source, name, node):
            return _attribute(tree, node, name, attribute_value(tree, source, name))


def _attribute(tree: DocumentTree, node: NodeId, name: Name, new: str | None) -> OperationText:
    before = attribute_value(tree, node, name)
    return OperationText(
        "set",
        f"{node_path(tree, node)}/@{name}",
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
