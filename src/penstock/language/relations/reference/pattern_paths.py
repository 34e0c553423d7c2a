"""Converts a pattern to a path, with its positive facts as predicates."""

from __future__ import annotations

from dataclasses import replace

from penstock.language.relations.reference.tree_patterns import Node
from penstock.language.xpath.ast import Axis, Compare, Exists, Expr, Kind, Op, Path, Query, Step
from penstock.language.xpath.value_tests import OPPOSITE, ValueTest


def to_query(document: Node) -> Query:
    """The query of a pattern whose document node has one child."""
    return Query((to_path(document.facts.children[0]),))


def to_path(node: Node) -> Path:
    """The path of a pattern from the context of its first node."""
    return Path(_steps(node))


def _steps(node: Node) -> tuple[Step, ...]:
    """The steps below a node; other children become predicates."""
    onward = _onward(node)
    predicates: list[Expr] = [test.expr for test in node.facts.values]
    for child in node.facts.children:
        if child is not onward:
            predicates += _conditions(child)
    step = Step(node.axis, node.kind, node.test, tuple(predicates))
    return (step, *(_steps(onward) if onward is not None else ()))


def _onward(node: Node) -> Node | None:
    """The child that continues the path: the spine child, or an only child."""
    for child in node.facts.children:
        if child.spine:
            return child
    children = node.facts.children
    return children[0] if len(children) == 1 and not node.spine else None


def _conditions(node: Node) -> list[Expr]:
    steps = _steps(node)
    last = steps[-1]
    compared = [each for each in last.predicates if isinstance(each, Compare)]
    # Comparisons of one node can be written after the path.
    one_node = len(steps) == 1 and last.kind is Kind.ATTRIBUTE and last.axis is Axis.CHILD
    if (
        compared
        and len(compared) == len(last.predicates)
        and all(not each.path.steps for each in compared)
        and (one_node or len(compared) == 1)
    ):
        path = Path((*steps[:-1], replace(last, predicates=())))
        return [replace(each, path=path) for each in compared]
    return [Exists(Path(steps))]


def positive(test: ValueTest) -> ValueTest | None:
    """An equivalent test without ``not``, if one exists."""
    if test.holds:
        return test
    if isinstance(test.expr, Compare) and test.expr.op in (Op.EQ, Op.NE):
        return ValueTest(replace(test.expr, op=OPPOSITE[test.expr.op]))
    return None
