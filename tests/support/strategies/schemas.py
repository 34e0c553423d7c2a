"""Hypothesis strategies for schema trees and their valid documents."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

from penstock.documents import Name
from penstock.language.relations.path_universe import Occurs
from penstock.schema import SchemaAttribute, SchemaNode, SchemaTree

URIS = st.sampled_from(["", "", "", "urn:p"])
NAMES = st.builds(Name, URIS, st.sampled_from("abcdefgh"))
ATTRIBUTES = st.builds(
    SchemaAttribute, st.builds(Name, URIS, st.sampled_from("wxyz")), st.booleans()
)
ONCE = Occurs(required=True, many=False)
OCCURS = st.builds(Occurs, required=st.booleans(), many=st.booleans())


@st.composite
def _nodes(draw: st.DrawFn, depth: int, least: int, is_root: bool = False) -> SchemaNode:
    below = _nodes(depth - 1, 0)
    children = st.lists(below, min_size=least, max_size=3, unique_by=lambda node: node.name)
    attributes = st.lists(ATTRIBUTES, max_size=2, unique_by=lambda each: each.name)
    return SchemaNode(
        name=draw(NAMES),
        occurs=ONCE if is_root else draw(OCCURS),
        text=draw(st.booleans()),
        attributes=tuple(draw(attributes)),
        children=tuple(draw(children)) if depth else (),
    )


def schema_trees(depth: int = 2, least: int = 0) -> st.SearchStrategy[SchemaTree]:
    """Trees of up to ``depth`` levels below the root, which has at least ``least`` children."""
    return _nodes(depth, least, is_root=True).map(SchemaTree)


TEXTS = st.text(st.sampled_from("ab <&é\n"), min_size=1, max_size=4)


@st.composite
def _content(draw: st.DrawFn, node: SchemaNode) -> str:
    pieces = []
    for child in node.children:
        least, most = int(child.occurs.required), 3 if child.occurs.many else 1
        pieces += [child] * draw(st.integers(least, most))
    shuffled = draw(st.permutations(pieces))
    between = TEXTS if node.text else st.sampled_from(["\n  ", " "])
    parts = []
    for child in shuffled:
        parts.append(escape(draw(between)) if draw(st.booleans()) else "")
        parts.append(draw(st.sampled_from(["", "", "<!-- x -->"])))
        parts.append(draw(_element(child)))
    if node.text or pieces:
        parts.append(escape(draw(between)) if draw(st.booleans()) else "")
    return "".join(parts)


def _label(name: Name) -> str:
    return f"p:{name.local}" if name.uri else name.local


@st.composite
def _element(draw: st.DrawFn, node: SchemaNode, declarations: str = "") -> str:
    attributes = "".join(
        f" {_label(each.name)}={quoteattr(draw(TEXTS))}"
        for each in node.attributes
        if each.required or draw(st.booleans())
    )
    label = _label(node.name)
    return f"<{label}{declarations}{attributes}>{draw(_content(node))}</{label}>"


def documents_of(tree: SchemaTree) -> st.SearchStrategy[bytes]:
    """Documents that are valid for the tree."""
    return _element(tree.root, ' xmlns:p="urn:p"').map(str.encode)
