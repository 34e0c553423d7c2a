"""Evaluates the paths of update statements on a document tree.

Adjacent text nodes are one text for paths, as for queries; ``*`` selects elements and text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

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
    """Evaluates paths on one state of a tree."""

    def __init__(self, tree: DocumentTree) -> None:
        self._tree = tree

    def evaluate(self, path: UpdatePath, context: Ref = ROOT_CONTEXT) -> list[Ref]:
        """The nodes that a path selects, each once, in document order."""
        found: list[Ref] = [ROOT_CONTEXT if path.is_absolute else context]
        for step in path.steps:
            found = self._step(step, found)
        return found

    def string_value(self, ref: Ref) -> str:
        """The string-value of a node."""
        if isinstance(ref, AttributeRef):
            return self._tree.attributes(ref.owner)[ref.name]
        return "".join(self._tree.string_value(each) for each in ref.ids)

    @cached_property
    def _order(self) -> dict[NodeId, int]:
        return {node: at for at, node in enumerate(self._tree.subtree(DOCUMENT))}

    def _step(self, step: Step, contexts: Sequence[Ref]) -> list[Ref]:
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
            for each in self._tree.subtree(context.ids[0])[1:]:
                if self._tree.node(each).kind is NodeKind.ELEMENT:
                    yield TreeRef((each,), NodeKind.ELEMENT)

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
