"""Evaluates the paths of update statements on a document tree.

Adjacent text nodes are one text for paths, as for queries; ``*`` selects elements and text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from penstock.errors import error
from penstock.language.updates.ast import (
    AllOf,
    AnyChild,
    AnyOf,
    Axis,
    Comparison,
    Condition,
    Contains,
    Content,
    Exists,
    Filter,
    Group,
    Index,
    Name,
    Negation,
    NodeStep,
    Step,
    UpdatePath,
)
from penstock.language.xpath.ast import Op
from penstock.language.xpath.value_tests import compare, number
from penstock.sync.document_tree import DOCUMENT, DocumentTree, NodeId, NodeKind
from penstock.sync.limits import STATEMENT_VISITS_MAX


@dataclass(frozen=True, slots=True)
class TreeRef:
    """A node; a text may consist of several adjacent text nodes."""

    ids: tuple[NodeId, ...]
    kind: NodeKind


@dataclass(frozen=True, slots=True)
class AttributeRef:
    """An attribute."""

    owner: NodeId
    name: Name


Ref: TypeAlias = TreeRef | AttributeRef

ROOT_CONTEXT = TreeRef((DOCUMENT,), NodeKind.DOCUMENT)
"""The context of a statement's path."""

_CONTENT_KINDS = {
    Content.TEXT: NodeKind.TEXT,
    Content.COMMENT: NodeKind.COMMENT,
    Content.INSTRUCTION: NodeKind.INSTRUCTION,
}


class PathEvaluator:
    """Evaluates the paths of one statement on one state of a tree."""

    def __init__(self, tree: DocumentTree) -> None:
        self._tree = tree
        self._absolute: dict[UpdatePath, list[Ref]] = {}
        self._children: dict[NodeId, list[TreeRef]] = {}
        self._visits = 0

    def evaluate(self, path: UpdatePath, context: Ref = ROOT_CONTEXT) -> list[Ref]:
        """The nodes that a path selects, each once, in document order."""
        if not path.is_absolute:
            return self._evaluate(path, context)
        if path not in self._absolute:
            self._absolute[path] = self._evaluate(path, ROOT_CONTEXT)
        return self._absolute[path]

    def _evaluate(self, path: UpdatePath, context: Ref) -> list[Ref]:
        found = [context]
        for step in path.steps:
            found = self._step(step, found)
        return found

    def empty_step(self, path: UpdatePath, contexts: Sequence[Ref]) -> Step | None:
        """The first step at which a path selects nothing from any of the context nodes."""
        found: list[list[Ref]] = [[each] for each in contexts]
        if path.is_absolute:
            found = [[ROOT_CONTEXT]]
        for step in path.steps:
            found = [self._step(step, each) for each in found]
            if not any(found):
                return step
        return None

    def string_value(self, ref: Ref) -> str:
        """The string-value of a node."""
        if isinstance(ref, AttributeRef):
            return self._tree.attributes(ref.owner)[ref.name]
        return "".join(self._tree.string_value(each) for each in ref.ids)

    @cached_property
    def _order(self) -> dict[NodeId, int]:
        return {node: at for at, node in enumerate(self._tree.subtree(DOCUMENT))}

    def _step(self, step: Step, contexts: Sequence[Ref]) -> list[Ref]:
        self._count(len(contexts))
        if step.axis is Axis.DESCENDANT:
            contexts = [inner for context in contexts for inner in self._with_inner(context)]
        if isinstance(step, Group):
            found = self._in_order(
                [each for context in contexts for each in self.evaluate(step.path, context)]
            )
            return self._filtered(found, step.filters)
        found = []
        for context in contexts:
            found += self._filtered(self._selected(step, context), step.filters)
        return found if len(contexts) == 1 else self._in_order(found)

    def _selected(self, step: NodeStep, context: Ref) -> list[Ref]:
        """The nodes that a step selects from one context node, without its filters."""
        if isinstance(context, AttributeRef):
            if step.test is Content.SELF:
                return [context]
            if step.test is Content.PARENT:
                return [TreeRef((context.owner,), NodeKind.ELEMENT)]
            return []
        if step.test is Content.SELF:
            return [context]
        if step.test is Content.PARENT:
            parent = self._tree.parent(context.ids[0])
            return [] if parent is None else [self._ref(parent)]
        if step.is_attribute:
            return self._attributes(step, context)
        return [each for each in self.children(context) if self._passes(step, each)]

    def _passes(self, step: NodeStep, ref: TreeRef) -> bool:
        match step.test:
            case AnyChild():
                return ref.kind in (NodeKind.ELEMENT, NodeKind.TEXT)
            case Content():
                return ref.kind is _CONTENT_KINDS.get(step.test)
            case Name(_, uri, local):
                if ref.kind is not NodeKind.ELEMENT:
                    return False
                name = self._tree.node(ref.ids[0]).name
                return (name.uri, name.local) == (uri, local)

    def _attributes(self, step: NodeStep, context: TreeRef) -> list[Ref]:
        if context.kind is not NodeKind.ELEMENT:
            return []
        names = self._tree.attributes(context.ids[0])
        if isinstance(step.test, Name):
            wanted = (step.test.uri, step.test.local)
            names = {name: "" for name in names if (name.uri, name.local) == wanted}
        return [AttributeRef(context.ids[0], name) for name in names]

    def children(self, ref: TreeRef) -> list[TreeRef]:
        """The children of a node; adjacent texts are one, and empty ones are none."""
        if ref.kind not in (NodeKind.DOCUMENT, NodeKind.ELEMENT):
            return []
        known = self._children.get(ref.ids[0])
        if known is None:
            known = self._children[ref.ids[0]] = self._read_children(ref)
        self._count(len(known))
        return known

    def _read_children(self, ref: TreeRef) -> list[TreeRef]:
        nodes = [(each, self._tree.node(each)) for each in self._tree.children(ref.ids[0])]
        found: list[TreeRef] = []
        for is_text, group in groupby(nodes, lambda each: each[1].kind is NodeKind.TEXT):
            if is_text:
                texts = tuple(each for each, node in group if node.value)
                if texts:
                    found.append(TreeRef(texts, NodeKind.TEXT))
            else:
                found += [TreeRef((each,), node.kind) for each, node in group]
        return found

    def _with_inner(self, context: Ref) -> Iterable[Ref]:
        """The node and its descendants that can have children or attributes."""
        yield context
        if isinstance(context, TreeRef) and context.kind in (NodeKind.DOCUMENT, NodeKind.ELEMENT):
            # Not recursive: documents may be deeper than Python's stack.
            left = [iter(self.children(context))]
            while left:
                each = next(left[-1], None)
                if each is None:
                    left.pop()
                elif each.kind is NodeKind.ELEMENT:
                    yield each
                    left.append(iter(self.children(each)))

    def _count(self, visits: int) -> None:
        self._visits += visits
        if self._visits > STATEMENT_VISITS_MAX:
            message = f"the paths of the statement visit more than {STATEMENT_VISITS_MAX} nodes"
            raise error("update.limit", message)

    def _ref(self, node: NodeId) -> TreeRef:
        return TreeRef((node,), self._tree.node(node).kind)

    def _in_order(self, refs: Iterable[Ref]) -> list[Ref]:
        def key(ref: Ref) -> tuple[int, int, str, str]:
            if isinstance(ref, AttributeRef):
                return self._order[ref.owner], 1, ref.name.uri, ref.name.local
            return self._order[ref.ids[0]], 0, "", ""

        return sorted(dict.fromkeys(refs), key=key)

    def _filtered(self, found: list[Ref], filters: tuple[Filter, ...]) -> list[Ref]:
        for each in filters:
            if isinstance(each, Index):
                at = each.number + len(found) if each.number < 0 else each.number
                found = found[at : at + 1] if at >= 0 else []
            else:
                found = [ref for ref in found if self._holds(each, ref)]
        return found

    def _holds(self, condition: Condition, ref: Ref) -> bool:
        match condition:
            case AllOf(items):
                return all(self._holds(item, ref) for item in items)
            case AnyOf(items):
                return any(self._holds(item, ref) for item in items)
            case Negation(item):
                return not self._holds(item, ref)
            case Exists(path):
                return bool(self.evaluate(path, ref))
            case Comparison(path, op, literal):
                test = _value_test(op, literal)
                return any(test(self.string_value(each)) for each in self.evaluate(path, ref))
            case Contains(path, text, at_start):
                first = next(iter(self.evaluate(path, ref)), None)
                value = "" if first is None else self.string_value(first)
                return value.startswith(text) if at_start else text in value


def _value_test(op: Op, literal: str | float) -> Callable[[str], bool]:
    """As in XPath 1.0: strings are compared as such with ``=`` and ``!=``, else as numbers."""
    if isinstance(literal, str) and op in (Op.EQ, Op.NE):
        return lambda value: (value == literal) is (op is Op.EQ)
    right = number(literal) if isinstance(literal, str) else literal
    return lambda value: compare(number(value), op, right)
