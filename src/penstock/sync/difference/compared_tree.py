"""A document tree, prepared for comparison with another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.errors import error
from penstock.language.updates.ast import Name
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NodeId, NodeKind
from penstock.sync.limits import DIFFERENCE_NODES_MAX

ContentClasses: TypeAlias = dict[tuple[object, ...], int]
"""Numbers of contents, shared by the trees that are compared: two subtrees have the same number if
and only if they are equal."""


@dataclass(slots=True)
class ComparedNode:
    """A node. Adjacent text nodes are one, as they are in a file."""

    ids: list[NodeId]
    """Several only for text."""
    kind: NodeKind
    name: Name
    value: str
    is_bare: bool
    parent: int
    attributes: dict[Name, str]
    declarations: dict[str, str]
    """Namespace declarations, which are no part of what is compared."""
    children: list[int] = field(default_factory=list)
    content_class: int = -1
    end: int = 0
    """One more than the last index of the subtree."""

    @property
    def id(self) -> NodeId:
        """The identity of a node that is no text."""
        return self.ids[0]

    @property
    def label(self) -> tuple[NodeKind, Name]:
        """What nodes have in common that are probably versions of each other."""
        return self.kind, self.name


class ComparedTree:
    """The nodes that are not deleted, in document order, the document node first."""

    def __init__(self, tree: DocumentTree, classes: ContentClasses) -> None:
        if len(tree) > DIFFERENCE_NODES_MAX:
            message = f"a document of more than {DIFFERENCE_NODES_MAX:,} nodes is not compared"
            raise error("update.limit", message)
        self.nodes: list[ComparedNode] = []
        self._load(tree)
        self._classify(classes)

    def _load(self, tree: DocumentTree) -> None:
        indices: dict[NodeId, int] = {}
        for each in tree.subtree(DOCUMENT):
            described = tree.node(each)
            above = tree.parent(each)
            parent = -1 if above is None else indices[above]
            is_text = described.kind is NodeKind.TEXT
            if is_text:
                if not described.value:
                    continue  # A file does not show it.
                siblings = self.nodes[parent].children
                last = self.nodes[siblings[-1]] if siblings else None
                if last is not None and last.kind is NodeKind.TEXT:
                    last.ids.append(each)
                    last.value += described.value
                    continue
            is_element = described.kind is NodeKind.ELEMENT
            indices[each] = index = len(self.nodes)
            self.nodes.append(
                ComparedNode(
                    [each],
                    described.kind,
                    described.name,
                    described.value,
                    described.is_bare,
                    parent,
                    tree.attributes(each) if is_element else {},
                    tree.declarations(each) if is_element else {},
                )
            )
            if parent >= 0:
                self.nodes[parent].children.append(index)

    def _classify(self, classes: ContentClasses) -> None:
        for index in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[index]
            node.end = self.nodes[node.children[-1]].end if node.children else index + 1
            content = (
                node.kind,
                node.name,
                node.value,
                frozenset(node.attributes.items()),
                tuple(self.nodes[child].content_class for child in node.children),
            )
            node.content_class = classes.setdefault(content, len(classes))

    def markup_children(self, index: int) -> list[int]:
        """The children that are no text."""
        nodes = self.nodes
        return [each for each in nodes[index].children if nodes[each].kind is not NodeKind.TEXT]

    def path_text(self, node: ComparedNode) -> str:
        """The path of an element as in statements, such as ``/menu/dish[1]``; an index counts the
        siblings of the same name from 0, if there are several."""
        steps: list[str] = []
        while node.parent >= 0:
            parent = self.nodes[node.parent]
            same = [
                each
                for each in map(self.nodes.__getitem__, parent.children)
                if each.kind is node.kind
                and (each.name.uri, each.name.local) == (node.name.uri, node.name.local)
            ]
            number = next(at for at, each in enumerate(same) if each is node)
            steps.append(f"/{node.name}[{number}]" if len(same) > 1 else f"/{node.name}")
            node = parent
        return "".join(reversed(steps))

    def size(self, index: int) -> int:
        """The number of nodes of a subtree."""
        return self.nodes[index].end - index
