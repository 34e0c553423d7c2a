"""Schemas unfolded to trees, queries expanded to concrete paths, both within limits."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from penstock.documents import Name
from penstock.errors import SchemaError
from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.workload import QueryGenerator, QueryParameters
from penstock.language import parse
from penstock.language.relations.path_universe import Occurs
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Query, Step
from penstock.schema import Place, SchemaGraph, SchemaNode, UnfoldLimits
from penstock.schema.unfolding import Declared, unfold

SHOP = SchemaGraph.from_dtd("""
    <!ELEMENT shop (info, item*)>
    <!ELEMENT info (#PCDATA)>
    <!ELEMENT item (name, part*)>
    <!ATTLIST item id ID #REQUIRED>
    <!ELEMENT name (#PCDATA)>
    <!ELEMENT part (name, part*)>
    <!ATTLIST part id ID #REQUIRED kind CDATA #IMPLIED>""")


def path(text: str) -> Path:
    """A linear path of names, ``*``, ``@name``, ``text()`` behind ``/`` and ``//``."""
    steps = []
    for piece in text.replace("//", "/~").split("/")[1:]:
        axis = Axis.DESCENDANT if piece.startswith("~") else Axis.CHILD
        word = piece.removeprefix("~")
        kind = Kind.ATTRIBUTE if word.startswith("@") else Kind.ELEMENT
        if word == "text()":
            steps.append(Step(axis, Kind.TEXT, NameTest()))
            continue
        local = word.removeprefix("@")
        test = NameTest() if local == "*" else NameTest("", local)
        steps.append(Step(axis, kind, test))
    return Path(tuple(steps))


def expanded(text: str, limits: UnfoldLimits | None = None) -> tuple[list[str], set[str]]:
    expansion = SHOP.expand(path(text), limits or UnfoldLimits(recursion_max=2))
    return [str(one) for one in expansion.paths], set(expansion.cut_at)


def test_a_tree_has_one_node_for_each_path_to_an_element() -> None:
    schema = SchemaGraph.from_dtd("<!ELEMENT a (b, c?)><!ELEMENT b (c*)><!ELEMENT c EMPTY>")
    tree = schema.tree()
    nodes = tree.nodes()
    assert [str(Place(path)) for path in nodes] == ["/a", "/a/b", "/a/b/c", "/a/c"]
    assert [node.occurs.many for node in nodes.values()] == [False, False, True, False]
    assert tree.cut_at == frozenset()
    assert not any(node.cut for node in nodes.values())


@pytest.mark.parametrize(
    ("limits", "nodes", "cut_at"),
    [
        (UnfoldLimits(recursion_max=2), 8, {"recursion_max"}),
        (UnfoldLimits(depth_max=2), 3, {"depth_max"}),
        (UnfoldLimits(size_max=4), 4, {"size_max"}),
    ],
)
def test_a_recursive_tree_reports_where_it_was_cut(
    limits: UnfoldLimits, nodes: int, cut_at: set[str]
) -> None:
    tree = SHOP.tree(limits=limits)
    assert len(tree.nodes()) == nodes
    assert tree.cut_at == cut_at
    assert any(node.cut for node in tree.nodes().values())


def test_a_tree_may_start_below_the_root() -> None:
    assert [str(place) for place in SHOP.tree("info").places()] == ["/info"]
    with pytest.raises(SchemaError, match="'nothing' is not declared"):
        SHOP.tree("nothing")


def test_a_tree_knows_its_attributes_and_which_are_required() -> None:
    nodes = SHOP.tree().nodes()
    part = nodes[Name("", "shop"), Name("", "item"), Name("", "part")]
    assert [(str(each.name), each.required) for each in part.attributes] == [
        ("id", True),
        ("kind", False),
    ]


def test_siblings_of_one_name_are_refused() -> None:
    twin = SchemaNode(Name("", "b"))
    with pytest.raises(ValueError, match="the same name"):
        SchemaNode(Name("", "a"), children=(twin, twin))


@pytest.mark.parametrize(
    ("query", "paths", "cut"),
    [
        ("/shop/item", ["/shop/item"], False),
        ("/*/*", ["/shop/info", "/shop/item"], False),
        ("/shop/name", [], False),
        ("//name", ["/shop/item/name", "/shop/item/part/name", "/shop/item/part/part/name"], True),
        ("//info", ["/shop/info"], False),
        ("/shop//part/part", ["/shop/item/part/part"], True),
        ("//item/@*", ["/shop/item/@id"], False),
        ("//item//@kind", ["/shop/item/part/@kind", "/shop/item/part/part/@kind"], True),
        ("/shop/@id", [], False),
        ("/@id", [], False),
        ("/shop/info/text()", ["/shop/info/text()"], False),
        ("/shop/item/@id/text()", [], False),
    ],
)
def test_a_path_is_expanded_to_all_concrete_paths(query: str, paths: list[str], cut: bool) -> None:
    assert expanded(query) == (paths, {"recursion_max"} if cut else set())


@pytest.mark.parametrize(
    ("limits", "found", "cut_at"),
    [
        (UnfoldLimits(depth_max=3), 1, "depth_max"),
        (UnfoldLimits(recursion_max=100, size_max=20), 3, "size_max"),
        (UnfoldLimits(recursion_max=100, depth_max=10), 8, "depth_max"),
    ],
)
def test_an_expansion_reports_where_it_was_cut(
    limits: UnfoldLimits, found: int, cut_at: str
) -> None:
    paths, cut = expanded("//name", limits)
    assert len(paths) == found
    assert cut == {cut_at}


def test_a_union_is_expanded_once_for_each_path() -> None:
    union = Query((path("/shop/*"), path("/shop/info")))
    assert [str(one) for one in SHOP.expand(union).paths] == ["/shop/info", "/shop/item"]


def test_names_in_a_namespace_show_it() -> None:
    schema = SchemaGraph.from_dtd("<!ELEMENT p:a EMPTY>", namespaces={"p": "urn:p"})
    step = Step(Axis.CHILD, Kind.ELEMENT, NameTest(None, "a"))
    assert [str(one) for one in schema.expand(Path((step,))).paths] == ["/{urn:p}a"]


def test_wide_recursion_is_cut() -> None:
    labels = [f"e{number}" for number in range(30)]
    model = f"(#PCDATA | {' | '.join(labels)})*"
    schema = SchemaGraph.from_dtd(
        "".join(f"<!ELEMENT {label} {model}>" for label in labels), roots=["e0"]
    )
    expansion = schema.expand(path("//e1"), UnfoldLimits(size_max=1000))
    assert str(expansion.paths[0]) == "/e0/e1"
    assert len(expansion.paths) <= 1000
    assert "size_max" in expansion.cut_at


def test_the_shortest_paths_are_there_even_when_cut() -> None:
    # Regression: a breadth-first search used up the limit on paths that did not reach the end.
    expansion = built_in_schema("news").expand(
        path("/news/*//work/emphasis/emphasis/measure"), UnfoldLimits(size_max=2000)
    )
    assert "size_max" in expansion.cut_at
    assert "/news/paragraph/work/emphasis/emphasis/measure" in map(str, expansion.paths)


def test_each_declaration_is_read_once() -> None:
    read: list[int] = []

    def declared(key: int) -> Declared[int]:
        read.append(key)
        once = Occurs(required=True, many=False)
        # Two declarations of each level, each with those of the next one as children.
        children = {2 * (key // 2) + 2: once, 2 * (key // 2) + 3: once}
        return Declared(Name("", f"e{key}"), False, (), children)

    tree = unfold(declared, 0, UnfoldLimits(size_max=5_000))
    assert len(list(tree.nodes())) == 5_000
    assert len(read) == len(set(read)) < 30


def test_expansion_agrees_with_lxml_on_a_document_of_all_paths() -> None:
    limits = UnfoldLimits(recursion_max=2)
    everything = _document(SHOP.tree(limits=limits).root).getroottree()
    parameters = QueryParameters(
        wildcard_probability=0.3,
        descendant_probability=0.3,
        attribute_leaf_probability=0.3,
        predicate_weights=(1.0,),
    )
    for query in QueryGenerator(SHOP, parameters).queries(200):
        selected: Any = everything.xpath(query)
        paths = SHOP.expand(parse(query), limits).paths
        assert {str(one) for one in paths} == {_place(node) for node in selected}, query


def _document(node: SchemaNode) -> etree._Element:
    attributes = {str(attribute.name): "value" for attribute in node.attributes}
    element = etree.Element(node.name.local, attributes)
    element.extend([_document(child) for child in node.children])
    return element


def _place(node: etree._Element | etree._ElementUnicodeResult) -> str:
    if isinstance(node, etree._Element):
        parent = node.getparent()
        return f"{'' if parent is None else _place(parent)}/{node.tag!s}"
    parent = node.getparent()
    assert parent is not None
    return f"{_place(parent)}/@{node.attrname!s}"
