"""A document whose nodes have identities and can be changed; an adapter of the native tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Final

from penstock.documents import Limits
from penstock.documents.reading import raise_refusal
from penstock.errors import error
from penstock.language.updates.ast import Name
from penstock.native import native
from penstock.sync.limits import TREE_NODES_MAX, TREE_TEXT_BYTES_MAX

if TYPE_CHECKING:
    from penstock import _native

NodeId = str
"""The identity of a node: ``replica.number``, or ``~`` and a digest for the nodes of a copy."""

NO_NAME: Final = Name("", "", "")
"""The name of a node without one."""

DOCUMENT: Final[NodeId] = "0.0"
"""The document node of every tree."""


class NodeKind(StrEnum):
    """The kind of a node; attributes are not nodes of the tree."""

    DOCUMENT = "document"
    ELEMENT = "element"
    TEXT = "text"
    COMMENT = "comment"
    INSTRUCTION = "instruction"


@dataclass(frozen=True, slots=True)
class TreeNode:
    """What a tree has of a node."""

    kind: NodeKind
    name: Name
    """Of an element; the local name is the target of an instruction."""
    value: str
    is_bare: bool
    """Whether the tree has only the name of the element, and selected attributes."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place among the children of a node."""

    parent: NodeId
    anchors: tuple[tuple[NodeId, bool], ...] = ()
    """Siblings, and whether the place is after (or before) each. The first that is still a child of
    the parent counts, deleted or not; without one, the place is the end. The parent itself stands
    for the start."""


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node of a subtree to insert."""

    id: NodeId
    depth: int
    """0 for the top; nodes are in document order."""
    kind: NodeKind
    name: Name = NO_NAME
    value: str = ""
    attributes: tuple[tuple[Name, str], ...] = ()
    declarations: tuple[tuple[str, str], ...] = ()
    """Namespace declarations: prefix and URI."""


class TreeQuery:
    """A subscription, compiled to restrict trees.

    Parameters
    ----------
    branches
        A query, or a union of branches in stages: a query, and the index of the node, among those
        that it selects, which is the root element of the next stage.
    namespaces
        Namespace URIs by prefix.
    default_namespace
        The namespace of element names without a prefix.
    """

    def __init__(
        self,
        branches: str | Iterable[Iterable[tuple[str, int | None]]],
        *,
        namespaces: Mapping[str, str] | None = None,
        default_namespace: str | None = None,
    ) -> None:
        with _TREE_ERRORS:
            bindings = list((namespaces or {}).items())
            if isinstance(branches, str):
                branches = [[(branches, None)]]
            stages = [list(branch) for branch in branches]
            self.native = native.TreeQuery(stages, bindings, default_namespace or "")


class View:
    """What a query keeps of a version of a tree."""

    def __init__(self, native_view: _native.TreeView) -> None:
        self.native = native_view

    def __len__(self) -> int:
        return len(self.native)


class DocumentTree:
    """Elements, text, comments and instructions with stable identities, and a journal of changes.

    A change that is refused raises :class:`~penstock.errors.PenstockError` and leaves the tree as
    it was.
    """

    def __init__(self, native_tree: _native.DocumentTree | None = None) -> None:
        if native is None:
            raise error("native.missing", "synchronisation needs the native core")
        self._native = (
            native.DocumentTree(TREE_NODES_MAX, TREE_TEXT_BYTES_MAX, Limits().depth)
            if native_tree is None
            else native_tree
        )

    @classmethod
    def read(cls, document: bytes, *, limits: Limits | None = None) -> DocumentTree:
        """Reads a document with the hardened reader.

        Raises
        ------
        DocumentError
            The document was refused.
        """
        tree, refusal = native.DocumentTree.read(
            document, (limits or Limits()).by_name(), TREE_NODES_MAX, TREE_TEXT_BYTES_MAX
        )
        raise_refusal(refusal)
        return cls(tree)

    @classmethod
    def from_snapshot(cls, snapshot: bytes) -> DocumentTree:
        """The tree of :meth:`snapshot`."""
        tree = cls()
        tree.apply_patch(snapshot)
        return tree

    @property
    def core(self) -> _native.DocumentTree:
        """The tree in the native core, for matchers."""
        return self._native

    def __len__(self) -> int:
        """The number of nodes, deleted ones included."""
        return len(self._native)

    # Operations

    def insert(self, nodes: Sequence[NewNode], place: Place) -> None:
        """Inserts a new subtree."""
        with _TREE_ERRORS:
            self._native.insert([_new_node(node) for node in nodes], _place(place))

    def delete(self, node: NodeId) -> None:
        """Deletes a node; its subtree is hidden until :meth:`forget` removes it."""
        with _TREE_ERRORS:
            self._native.delete(node)

    def restore(self, node: NodeId) -> None:
        """Undoes a deletion."""
        with _TREE_ERRORS:
            self._native.restore(node)

    def move(self, node: NodeId, place: Place) -> None:
        """Moves a node with its subtree."""
        with _TREE_ERRORS:
            self._native.move_to(node, _place(place))

    def copy(self, source: NodeId, operation: NodeId, place: Place) -> NodeId:
        """Copies a subtree; returns the identity of the copy."""
        with _TREE_ERRORS:
            return self._native.copy(source, operation, _place(place))

    def set_value(self, node: NodeId, value: str) -> None:
        """Sets the value of a text, comment or instruction."""
        with _TREE_ERRORS:
            self._native.set_value(node, value)

    def rename(self, node: NodeId, name: Name) -> None:
        """Renames an element."""
        with _TREE_ERRORS:
            self._native.rename(node, _name(name))

    def set_attribute(self, node: NodeId, name: Name, value: str | None) -> None:
        """Sets an attribute, or removes it."""
        with _TREE_ERRORS:
            self._native.set_attribute(node, _name(name), value)

    # Versions

    @property
    def version(self) -> int:
        """The version of the changes that follow."""
        return self._native.version()

    def set_version(self, version: int) -> None:
        """Starts a version, at least as great as the current one."""
        self._native.set_version(version)

    @contextmanager
    def at_version(self, version: int) -> Iterator[None]:
        """Rolls the changes after ``version`` back for the context."""
        self._native.roll_back(version)
        try:
            yield
        finally:
            self._native.roll_forward()

    def undo_after(self, version: int) -> None:
        """Undoes the changes after ``version`` for good."""
        self._native.roll_back(version)
        self._native.discard_undone()

    def forget(self, version: int) -> None:
        """Forgets how to undo the changes up to ``version``, and removes what they deleted."""
        self._native.forget(version)

    # Reading

    @property
    def root(self) -> NodeId | None:
        """The root element."""
        return self._native.root()

    def is_live(self, node: NodeId) -> bool:
        """Whether the node exists, is not deleted and is not inside a deleted one."""
        with _TREE_ERRORS:
            return self._native.is_live(node)

    def exists(self, node: NodeId) -> bool:
        """Whether the node exists, deleted or not."""
        with _TREE_ERRORS:
            return self._native.exists(node)

    def node(self, node: NodeId) -> TreeNode:
        """A node that is not deleted."""
        with _TREE_ERRORS:
            kind, name, value, is_bare = self._native.describe(node)
        return TreeNode(NodeKind(kind), Name(*name), value, is_bare)

    def attributes(self, node: NodeId) -> dict[Name, str]:
        """The attributes of an element."""
        with _TREE_ERRORS:
            return {Name(*name): value for name, value in self._native.attributes(node)}

    def declarations(self, node: NodeId) -> dict[str, str]:
        """The namespace declarations of an element: URIs by prefix."""
        with _TREE_ERRORS:
            return dict(self._native.declarations(node))

    def parent(self, node: NodeId) -> NodeId | None:
        """The parent, also of a deleted node."""
        with _TREE_ERRORS:
            return self._native.parent(node)

    def children(self, node: NodeId) -> list[NodeId]:
        """The children, without deleted ones."""
        with _TREE_ERRORS:
            return self._native.children(node)

    def subtree(self, node: NodeId, count_max: int | None = None) -> list[NodeId]:
        """The node and what is below it, in document order, without what is deleted; the first
        ``count_max`` of them."""
        with _TREE_ERRORS:
            return self._native.subtree(node, count_max)

    def present_subtree(self, node: NodeId, count_max: int) -> list[NodeId]:
        """The first nodes of :meth:`subtree`, with deleted ones."""
        with _TREE_ERRORS:
            return self._native.present_subtree(node, count_max)

    def string_value(self, node: NodeId) -> str:
        """The text of a subtree, or the value of a node without one."""
        with _TREE_ERRORS:
            return self._native.string_value(node)

    def hidden_by(self, node: NodeId) -> list[NodeId]:
        """The deleted nodes among the node and its ancestors, upwards."""
        with _TREE_ERRORS:
            return self._native.hidden_by(node)

    def is_inside(self, node: NodeId, outer: NodeId) -> bool:
        """Whether a node is another or inside it, deleted or not."""
        with _TREE_ERRORS:
            return self._native.is_inside(node, outer)

    def label_path(self, node: NodeId) -> tuple[tuple[str, str], ...]:
        """The expanded names from the root element to the node, or to its parent if the node is no
        element; deleted nodes have one, too."""
        with _TREE_ERRORS:
            return tuple(self._native.label_path(node))

    def neighbours(self, node: NodeId) -> tuple[NodeId | None, NodeId | None]:
        """The siblings before and after a node, without deleted ones."""
        with _TREE_ERRORS:
            return self._native.neighbours(node)

    def recorded_place(self, node: NodeId) -> Place:
        """The place of a node, in a form that stands for the same place when deleted siblings are
        forgotten."""
        with _TREE_ERRORS:
            parent, anchors = self._native.recorded_place(node)
        return Place(parent, tuple(anchors))

    # Restrictions

    def view(self, query: TreeQuery) -> View:
        """The restriction to a query."""
        with _TREE_ERRORS:
            return View(self._native.view(query.native))

    def view_of_same_selection(self, view: View) -> View:
        """The restriction to the query of an earlier view, if the query still selects the same
        nodes; it is not evaluated."""
        return View(self._native.view_of_same_selection(view.native))

    @staticmethod
    def empty_view() -> View:
        """A view with nothing in it."""
        return View(native.DocumentTree.empty_view())

    def is_in_view(self, node: NodeId, view: View) -> bool:
        """Whether a view has a node."""
        with _TREE_ERRORS:
            return self._native.is_in_view(node, view.native)

    def patch(self, before: View, after: View, *, since: int) -> bytes | None:
        """The patch that turns the view ``before``, of version ``since``, into ``after``, of the
        current one; ``None`` if they do not differ."""
        return self._native.patch(before.native, after.native, since)

    def apply_patch(self, patch: bytes) -> None:
        """Applies a patch to a tree without changes of its own.

        Raises
        ------
        SyncError
            ``sync.patch``: the patch is malformed or does not fit. The tree is then unusable.
        """
        with _TREE_ERRORS:
            self._native.apply_patch(patch)

    def restricted(self, view: View) -> DocumentTree:
        """A view as a tree of its own."""
        with _TREE_ERRORS:
            return DocumentTree(self._native.restricted(view.native))

    def snapshot(self) -> bytes:
        """The stored form of the tree, with deleted nodes that are not forgotten, without the
        journal."""
        return self._native.snapshot()

    def canonical_xml(self, *, exclusive: bool = False) -> bytes:
        """Canonical XML 1.0 (or Exclusive XML Canonicalization) with comments."""
        return self._native.canonical_xml(exclusive)


def derived_identity(operation: NodeId, source: NodeId) -> NodeId:
    """The identity of the copy of a node that an operation makes."""
    with _TREE_ERRORS:
        return native.derived_identity(operation, source)


class _TreeErrors:
    """Translates refusals of the native tree. A class: a generator would cost more than the calls
    that it wraps."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(problem, ValueError) and len(problem.args) == 2:
            code, message = problem.args
            raise error(code, message) from None


_TREE_ERRORS: Final = _TreeErrors()


def _name(name: Name) -> tuple[str, str, str]:
    return name.prefix, name.uri, name.local


def _place(place: Place) -> tuple[str, list[tuple[str, bool]]]:
    return place.parent, list(place.anchors)


def _new_node(
    node: NewNode,
) -> tuple[
    str,
    int,
    str,
    tuple[str, str, str],
    str,
    list[tuple[tuple[str, str, str], str]],
    list[tuple[str, str]],
]:
    attributes = [(_name(name), value) for name, value in node.attributes]
    declarations = list(node.declarations)
    return (
        node.id,
        node.depth,
        node.kind.value,
        _name(node.name),
        node.value,
        attributes,
        declarations,
    )
