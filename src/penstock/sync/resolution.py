"""Resolves statements into operations on node identities, on the cache of their author.

Paths are evaluated on the state before the statement; a source path once for each target. A
statement that cannot be applied as a whole is refused, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from penstock.errors import PenstockError, Where, error
from penstock.language.updates.ast import Function, Name, PlainPath, Statement, UpdatePath
from penstock.language.updates.parser import StatementPositions
from penstock.language.xpath.lexical import NCNAME
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NewNode, NodeId, NodeKind, Place
from penstock.sync.limits import STATEMENT_NODES_MAX, STATEMENT_OPERATIONS_MAX
from penstock.sync.operations import (
    Copy,
    CopyAttribute,
    Delete,
    Insert,
    Move,
    Operation,
    Rename,
    SetAttribute,
    SetValue,
    apply,
)
from penstock.sync.path_evaluation import ROOT_CONTEXT, AttributeRef, PathEvaluator, Ref, TreeRef
from penstock.sync.statement_work import StatementWork


def resolve(
    statement: Statement,
    tree: DocumentTree,
    new_id: Callable[[], NodeId],
    *,
    nodes_max: int = STATEMENT_NODES_MAX,
    positions: StatementPositions | None = None,
) -> tuple[Operation, ...]:
    """Applies a statement to its author's cache; returns the operations that this takes.

    Parameters
    ----------
    statement
        The statement.
    tree
        The cache. The operations belong to its current version.
    new_id
        Makes identities for new nodes and copies.
    nodes_max
        Nodes that the statement may create.
    positions
        The positions of the statement's parts, if it was parsed from a text.

    Raises
    ------
    UpdateError
        The statement was refused; ``where`` is the position of the part that is at fault, if
        positions are known. What was applied of the statement must be rolled back.
    """
    resolver = _Resolver(statement, tree, new_id, nodes_max, positions)
    resolver.run()
    return tuple(resolver.operations)


class _Resolver:
    def __init__(
        self,
        statement: Statement,
        tree: DocumentTree,
        new_id: Callable[[], NodeId],
        nodes_max: int,
        positions: StatementPositions | None,
    ) -> None:
        self._statement = statement
        self._tree = tree
        self._new_id = new_id
        self._work = StatementWork(tree, nodes_max)
        self._positions = positions
        self.operations: list[Operation] = []

    def run(self) -> None:
        statement = self._statement
        evaluator = PathEvaluator(self._tree)
        with self._located(self._end_of(statement.path)):
            targets = evaluator.evaluate(statement.path)
            if not targets:
                where = self._empty_step(statement.path, [ROOT_CONTEXT])
                raise error("update.no-target", "the path of the statement selects nothing", where)
        sources: list[list[Ref]] = [[] for _ in targets]
        if isinstance(statement.argument, UpdatePath):
            with self._located(self._argument):
                sources = [evaluator.evaluate(statement.argument, target) for target in targets]
                if not any(sources):
                    where = self._empty_step(statement.argument, targets)
                    message = "the path of the argument selects nothing"
                    raise error("update.no-target", message, where)
        with self._located(self._end_of(statement.path)):
            for target, of_target in zip(targets, sources, strict=True):
                self._run_on(statement, target, of_target)

    # Positions

    @contextmanager
    def _located(self, where: Where | None) -> Iterator[None]:
        """Gives a position to errors that have none, those of the tree included."""
        try:
            yield
        except PenstockError as refused:
            if refused.where is not None or where is None:
                raise
            raise error(refused.code, refused.message, where) from None

    def _end_of(self, path: UpdatePath) -> Where | None:
        """The position of the last step of a path, which selects the nodes."""
        if self._positions is None:
            return None
        return self._positions.of(path.steps[-1] if path.steps else path)

    @property
    def _argument(self) -> Where | None:
        """The position of the argument; of a path, that of its last step."""
        if self._positions is None:
            return None
        argument = self._statement.argument
        if isinstance(argument, UpdatePath):
            return self._end_of(argument)
        return self._positions.argument

    def _empty_step(self, path: UpdatePath, contexts: Sequence[Ref]) -> Where | None:
        """The position of the first step that selects nothing."""
        if self._positions is None:
            return None
        step = PathEvaluator(self._tree).empty_step(path, contexts)
        return self._positions.of(path if step is None else step)

    def _run_on(self, statement: Statement, target: Ref, sources: list[Ref]) -> None:
        match statement.function:
            case Function.DELETE:
                self._delete(target)
            case Function.UPDATE:
                assert isinstance(statement.argument, str)
                self._update(target, statement.argument)
            case function if function.takes_plain_path:
                assert isinstance(statement.argument, PlainPath)
                self._insert(function, target, statement.argument)
            case function:
                self._transfer(function, target, sources)

    def _do(self, operation: Operation) -> None:
        if len(self.operations) == STATEMENT_OPERATIONS_MAX:
            message = f"the statement takes more than {STATEMENT_OPERATIONS_MAX} operations"
            raise error("update.limit", message)
        self._work.add(operation)
        apply(operation, self._tree)
        self.operations.append(operation)

    # Targets

    def _full(self, ref: Ref) -> None:
        """Checks that the cache has more than the name of a node that is changed."""
        node = ref.owner if isinstance(ref, AttributeRef) else ref.ids[0]
        if isinstance(ref, AttributeRef):
            return
        if ref.kind is NodeKind.DOCUMENT:
            raise error("update.kind", "the document itself cannot be changed")
        if self._tree.node(node).is_bare:
            raise error("update.bare", "the cache has only the name of the element")

    def _element(self, ref: Ref) -> NodeId:
        """The target of an insertion below."""
        if isinstance(ref, AttributeRef) or ref.kind not in (NodeKind.ELEMENT, NodeKind.DOCUMENT):
            raise error("update.kind", "only elements have children and attributes")
        if ref.kind is NodeKind.DOCUMENT:
            raise error("update.root", "the root element cannot get siblings")
        return ref.ids[0]

    # Functions

    def _delete(self, target: Ref) -> None:
        self._full(target)
        if isinstance(target, AttributeRef):
            self._do(SetAttribute(target.owner, target.name, None))
            return
        for node in target.ids:
            # An enclosing target may be deleted already.
            if self._tree.is_live(node):
                self._do(Delete(node))

    def _update(self, target: Ref, value: str) -> None:
        self._full(target)
        if isinstance(target, AttributeRef):
            self._do(SetAttribute(target.owner, target.name, value))
        elif target.kind is NodeKind.ELEMENT:
            if not NCNAME.fullmatch(value):
                message = f"`{value}` is not a name; a prefix is kept"
                raise error("update.content", message, self._argument)
            name = self._tree.node(target.ids[0]).name
            self._do(Rename(target.ids[0], Name(name.prefix, name.uri, value)))
        else:
            first, *others = target.ids
            with self._located(self._argument):
                self._do(SetValue(first, value))
            for node in others:
                self._do(Delete(node))

    def _insert(self, function: Function, target: Ref, path: PlainPath) -> None:
        if path.attribute is not None and not path.elements:
            if function.is_beside:
                raise error("update.kind", "an attribute has no siblings", self._argument)
            node = self._element(target)
            self._full(target)
            self._do(SetAttribute(node, path.attribute, path.value or ""))
            return
        place = next(self._places(function, target))
        self._do(Insert(tuple(self._new_nodes(path)), place))

    def _new_nodes(self, path: PlainPath) -> Iterator[NewNode]:
        for depth, name in enumerate(path.elements):
            attributes: tuple[tuple[Name, str], ...] = ()
            if path.attribute is not None and depth + 1 == len(path.elements):
                attributes = ((path.attribute, path.value or ""),)
            yield NewNode(self._new_id(), depth, NodeKind.ELEMENT, name, attributes=attributes)
        if path.attribute is None and path.value is not None:
            yield NewNode(self._new_id(), len(path.elements), NodeKind.TEXT, value=path.value)

    def _transfer(self, function: Function, target: Ref, sources: list[Ref]) -> None:
        """Copies or moves the sources to a target."""
        is_copy = function.value.startswith("copy")
        places = self._places(function, target)
        for source in sources:
            with self._located(self._argument):
                self._full(source)
            if isinstance(source, AttributeRef):
                if function.is_beside:
                    raise error("update.kind", "an attribute has no siblings", self._argument)
                node = self._element(target)
                self._full(target)
                self._do(CopyAttribute(source.owner, source.name, node))
                if not is_copy and source.owner != node:
                    self._do(SetAttribute(source.owner, source.name, None))
                continue
            for node in source.ids:
                if is_copy:
                    self._do(Copy(node, self._new_id(), next(places)))
                else:
                    self._move(node, target, places)

    def _move(self, node: NodeId, target: Ref, places: Iterator[Place]) -> None:
        place = next(places)
        if isinstance(target, TreeRef) and self._tree.is_inside(place.parent, node):
            raise error("update.cycle", "a node cannot be moved into itself", self._argument)
        self._do(Move(node, place))

    def _places(self, function: Function, target: Ref) -> Iterator[Place]:
        """Where the results go: each beside the previous one, in order."""
        if not function.is_beside:
            parent = self._element(target)
            while True:
                children = self._tree.children(parent)
                yield Place(parent, ((children[-1], True),) if children else ())
        if isinstance(target, AttributeRef):
            raise error("update.kind", "an attribute has no siblings")
        if target.kind is NodeKind.DOCUMENT:
            raise error("update.root", "the document has no siblings")
        is_after = function.value.endswith("After")
        anchor = target.ids[-1 if is_after else 0]
        while True:
            parent_of_target = self._tree.parent(anchor)
            if parent_of_target is None or parent_of_target == DOCUMENT:
                raise error("update.root", "the root element cannot get siblings")
            before, after = self._tree.neighbours(anchor)
            other = after if is_after else before
            anchors = ((anchor, is_after),)
            yield Place(
                parent_of_target, anchors if other is None else (*anchors, (other, not is_after))
            )
            if is_after:
                last = self.operations[-1]
                if isinstance(last, Copy):
                    anchor = last.top
                elif isinstance(last, Move):
                    anchor = last.node
