"""Hypothesis strategies for queries that documents of a schema tree can match."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.documents import Name
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Contains,
    Exists,
    Expr,
    Kind,
    NameTest,
    Not,
    Op,
    Or,
    Path,
    Query,
    StartsWith,
    Step,
)
from penstock.schema import SchemaNode, SchemaTree

LITERALS: st.SearchStrategy[str | float] = st.sampled_from(["", "a", "b", " ", "ab", 1.0])
OPS = st.sampled_from([Op.EQ, Op.NE, Op.NE, Op.LT])


def queries_to(tree: SchemaTree, depth: int = 2) -> st.SearchStrategy[Query]:
    """Queries of one branch, with predicates that nest up to ``depth`` deep."""
    above = SchemaNode(Name("", ""), children=(tree.root,))
    return _paths(above, depth).filter(lambda path: bool(path.steps)).map(lambda p: Query((p,)))


@st.composite
def _paths(draw: st.DrawFn, node: SchemaNode, depth: int) -> Path:
    steps: list[Step] = []
    while node.children and draw(st.integers(0, 3)) > 0:
        axis = Axis.CHILD
        if not draw(st.integers(0, 3)):
            axis = Axis.DESCENDANT
            if draw(st.booleans()):  # otherwise it is a child
                node = draw(st.sampled_from(node.children))
                if not node.children:
                    break
        node = draw(st.sampled_from(node.children))
        predicates = [draw(_predicates(node, depth - 1))] if depth and draw(st.booleans()) else []
        steps.append(Step(axis, Kind.ELEMENT, draw(_tests(node.name)), tuple(predicates)))
    if node.name.local and node.attributes and not draw(st.integers(0, 2)):
        name = draw(st.sampled_from(node.attributes)).name
        steps.append(Step(Axis.CHILD, Kind.ATTRIBUTE, draw(_tests(name))))
    elif node.name.local and node.text and not draw(st.integers(0, 4)):
        steps.append(Step(Axis.CHILD, Kind.TEXT, NameTest()))
    return Path(tuple(steps))


def _tests(name: Name) -> st.SearchStrategy[NameTest]:
    named = NameTest(name.uri, name.local)
    return st.sampled_from([named, named, named, NameTest(), NameTest(None, name.local)])


@st.composite
def _predicates(draw: st.DrawFn, node: SchemaNode, depth: int) -> Expr:
    kind = draw(st.sampled_from(["exists", "exists", "exists", "compare", "text", "not", "both"]))
    if kind == "not":
        return Not(draw(_predicates(node, depth)))
    if kind == "both":
        items = (draw(_predicates(node, depth)), draw(_predicates(node, depth)))
        return And(items) if draw(st.booleans()) else Or(items)
    path = draw(_paths(node, depth))
    if kind == "compare":
        return Compare(path, draw(OPS), draw(LITERALS))
    if kind == "text":
        text = draw(st.sampled_from("ab"))
        return Contains(path, text) if draw(st.booleans()) else StartsWith(path, text)
    return Exists(path) if path.steps else Compare(path, Op.NE, "a")
