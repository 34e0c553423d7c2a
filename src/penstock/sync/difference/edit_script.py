"""The operations that turn a cache into an edited document."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.documents import Limits
from penstock.errors import error
from penstock.sync.client import Client
from penstock.sync.difference.compared_tree import ComparedNode, ComparedTree, ContentClasses
from penstock.sync.difference.node_matching import NodeMatching, increasing_subsequence
from penstock.sync.difference.text_alignment import TextNode, TextRun, align_texts
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NewNode, NodeId, NodeKind, Place
from penstock.sync.limits import STATEMENT_NODES_MAX, STATEMENT_OPERATIONS_MAX
from penstock.sync.operations import (
    Delete,
    Insert,
    Move,
    Operation,
    Rename,
    SetAttribute,
    SetValue,
    apply,
)
from penstock.sync.statement_work import StatementWork


def submit_edited(client: Client, document: bytes, *, limits: Limits | None = None) -> int | None:
    """Makes a statement of what a person changed in a file that had the client's cache.

    Returns
    -------
    The number of the statement; ``None`` if nothing was changed.

    Raises
    ------
    DocumentError
        The edited document was refused.
    UpdateError
        The changes are not allowed, for instance those of bare elements. Nothing is changed.

    Examples
    --------
    >>> from penstock.sync import Client, Server, SyncSubscription
    >>> server = Server.of_document(b"<menu><dish>soup</dish><dish>stew</dish></menu>")
    >>> client = Client("tablet", SyncSubscription("/menu/dish"))
    >>> server.receive(client.clone())
    >>> for message in server.round():
    ...     _ = client.receive(message)
    >>> submit_edited(client, b"<menu><dish>stew</dish><dish>broth</dish></menu>")
    1
    >>> [type(each).__name__ for each in client.pending[0].operations]
    ['Insert', 'Delete']
    """
    return submit_edited_tree(client, DocumentTree.read(document, limits=limits))


def submit_edited_tree(client: Client, edited: DocumentTree) -> int | None:
    """Makes a statement of the difference between a client's cache and an edited tree.

    Returns and raises as :func:`submit_edited` does.
    """
    if edited.canonical_xml(exclusive=True) == client.canonical_xml(exclusive=True):
        return None
    return client.change(
        lambda: apply_difference(client.tree, edited, client.new_identity), text="edited file"
    )


def apply_difference(
    tree: DocumentTree, edited: DocumentTree, new_id: Callable[[], NodeId]
) -> tuple[Operation, ...]:
    """Turns a tree into an edited one, as exclusive canonical XML; returns the operations.

    Raises
    ------
    UpdateError
        The changes are not allowed. What was applied of them must be rolled back.
    """
    if tree.root is None:
        raise error("update.root", "the cache has no root element")
    classes: ContentClasses = {}
    script = _EditScript(tree, ComparedTree(tree, classes), ComparedTree(edited, classes), new_id)
    script.run()
    return tuple(script.operations)


class _EditScript:
    """Applies operations from the root downwards.

    When the children of an element are arranged, it and what is above it have their final places,
    so that no move can close a cycle. Deletions come last, when everything that stays has left the
    deleted subtrees.
    """

    def __init__(
        self,
        tree: DocumentTree,
        cache: ComparedTree,
        edited: ComparedTree,
        new_id: Callable[[], NodeId],
    ) -> None:
        self._tree = tree
        self._cache = cache
        self._edited = edited
        self._new_id = new_id
        self._matching = NodeMatching(cache, edited)
        self._inserted: dict[int, NodeId] = {}
        """Identities of new nodes by their index in the edited tree."""
        self._deleted: list[NodeId] = []
        self.operations: list[Operation] = []
        self._work = StatementWork(tree, STATEMENT_NODES_MAX)

    def run(self) -> None:
        at = 0
        while at < len(self._edited.nodes):
            node = self._edited.nodes[at]
            if self._matching.is_equal(at):
                at = node.end
                continue
            partner = self._matching.to_cache.get(at)
            if partner is not None and at:
                self._change(self._cache.nodes[partner], node)
            if node.kind in (NodeKind.ELEMENT, NodeKind.DOCUMENT):
                self._arrange_children(at, partner)
            at += 1
        for at, node in enumerate(self._cache.nodes):
            is_top = at and at not in self._matching.to_edited
            if (
                is_top
                and node.parent in self._matching.to_edited
                and node.kind is not NodeKind.TEXT
            ):
                self._require_full(node, "deleted")
                self._deleted.append(node.id)
        for each in self._deleted:
            self._do(Delete(each))

    def _do(self, operation: Operation) -> None:
        if len(self.operations) == STATEMENT_OPERATIONS_MAX:
            message = f"the changes take more than {STATEMENT_OPERATIONS_MAX:,} operations"
            raise error("update.limit", message)
        self._work.add(operation)
        apply(operation, self._tree)
        self.operations.append(operation)

    def _require_full(self, node: ComparedNode, change: str) -> None:
        if node.is_bare:
            # The tree of an edited file keeps no positions; a path identifies the element.
            path = self._cache.path_text(node)
            message = f"`{path}` was {change}, but the cache has only the name of the element"
            raise error("update.bare", message)

    # Names, attributes, values

    def _change(self, old: ComparedNode, new: ComparedNode) -> None:
        if old.kind is not NodeKind.ELEMENT:
            if old.value != new.value and old.kind is not NodeKind.TEXT:
                self._do(SetValue(old.id, new.value))
            return
        # Attributes go first: a prefix may stand for another namespace in the new name.
        for name in old.attributes:
            if name not in new.attributes:
                self._do(SetAttribute(old.id, name, None))
        if old.name != new.name:
            self._require_full(old, "renamed")
            self._do(Rename(old.id, new.name))
        for name, value in new.attributes.items():
            if old.attributes.get(name) != value:
                if name not in old.attributes:
                    self._require_full(old, "given an attribute")
                self._do(SetAttribute(old.id, name, value))

    # Children

    def _arrange_children(self, edited: int, partner: int | None) -> None:
        """Puts the children of an element that has its final place in order."""
        parent = self._id(edited)
        if partner is None:
            stable = {
                child for child in self._edited.nodes[edited].children if child in self._inserted
            }
            runs: dict[int, TextRun | None] = {}
        else:
            stable = self._stable_children(edited, partner)
            runs = self._align_texts(edited, partner, stable)
        previous: NodeId | None = None
        for child in self._edited.nodes[edited].children:
            if child in runs:
                previous = self._put_text(child, runs[child], parent, previous)
            else:
                if child not in stable:
                    self._put(child, parent, previous)
                previous = self._id(child)

    def _id(self, edited: int) -> NodeId:
        if edited in self._inserted:
            return self._inserted[edited]
        return self._cache.nodes[self._matching.to_cache[edited]].id

    def _stable_children(self, edited: int, partner: int) -> set[int]:
        """The markup children that need not be moved."""
        positions = {child: at for at, child in enumerate(self._cache.nodes[partner].children)}
        staying = [
            (child, positions[old])
            for child in self._edited.markup_children(edited)
            if (old := self._matching.to_cache.get(child)) is not None and old in positions
        ]
        order = increasing_subsequence([position for _, position in staying])
        return {staying[at][0] for at in order}

    def _align_texts(
        self, edited: int, partner: int, stable: set[int]
    ) -> dict[int, TextRun | None]:
        """The runs of text nodes of the texts between stable children."""
        stable_in_cache = {self._matching.to_cache[child] for child in stable}
        nodes: list[list[TextNode]] = [[]]
        for child in self._cache.nodes[partner].children:
            if child in stable_in_cache:
                nodes.append([])
            elif self._cache.nodes[child].kind is NodeKind.TEXT:
                ids = self._cache.nodes[child].ids
                nodes[-1] += [(each, self._tree.node(each).value) for each in ids]
        texts: list[list[int]] = [[]]
        for child in self._edited.nodes[edited].children:
            if child in stable:
                texts.append([])
            elif self._edited.nodes[child].kind is NodeKind.TEXT:
                texts[-1].append(child)
        found: dict[int, TextRun | None] = {}
        for left, right in zip(nodes, texts, strict=True):
            runs, deleted = align_texts(left, [self._edited.nodes[each].value for each in right])
            self._deleted += deleted
            found.update(zip(right, runs, strict=True))
        return found

    def _put_text(
        self, child: int, run: TextRun | None, parent: NodeId, previous: NodeId | None
    ) -> NodeId:
        if run is None:
            node = NewNode(self._new_id(), 0, NodeKind.TEXT, value=self._edited.nodes[child].value)
            self._do(Insert((node,), self._place(parent, previous)))
            return node.id
        for each, value in run.values:
            self._do(SetValue(each, value))
        self._deleted += run.deleted
        return run.kept[-1]

    def _put(self, child: int, parent: NodeId, previous: NodeId | None) -> None:
        if parent == DOCUMENT:
            kind = self._edited.nodes[child].kind.value
            raise error("update.root", f"the root element was given a sibling ({kind})")
        place = self._place(parent, previous)
        old = self._matching.to_cache.get(child)
        if old is None:
            self._do(Insert(tuple(self._new_nodes(child)), place))
        else:
            self._require_full(self._cache.nodes[old], "moved")
            self._do(Move(self._cache.nodes[old].id, place))

    def _place(self, parent: NodeId, previous: NodeId | None) -> Place:
        if previous is None:
            children = self._tree.children(parent)
            anchors = ((children[0], False),) if children else ()
            return Place(parent, (*anchors, (parent, True)))
        _, after = self._tree.neighbours(previous)
        return Place(parent, ((previous, True), *(((after, False),) if after else ())))

    def _new_nodes(self, top: int) -> Iterator[NewNode]:
        """A subtree without the parts that are moved into it."""
        depths = {self._edited.nodes[top].parent: -1}
        at = top
        while at < self._edited.nodes[top].end:
            node = self._edited.nodes[at]
            if at in self._matching.to_cache:
                at = node.end
                continue
            depths[at] = depths[node.parent] + 1
            self._inserted[at] = self._new_id()
            yield NewNode(
                self._inserted[at],
                depths[at],
                node.kind,
                node.name,
                node.value,
                tuple(node.attributes.items()),
                tuple(node.declarations.items()),
            )
            at += 1
