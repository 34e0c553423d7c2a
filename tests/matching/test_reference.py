"""The reference itself: lxml's own parser and XPath agree with it wherever they are comparable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from lxml import etree

from penstock import Limits
from penstock.documents.reference import reader
from penstock.language import to_text
from penstock.language.xpath.ast import Query
from penstock.language.xpath.reference.lxml_xpath import compile_query, lxml_name
from penstock.matching.reference.document_tree import Tree, tree_of
from support.fixtures.xpath2_functions import EXTENSIONS, NAMESPACES
from support.strategies.documents import (
    ATTRIBUTE_NAMES,
    ELEMENT_NAMES,
    NAMESPACE_URIS,
    VALUES,
    documents,
)
from support.strategies.queries import Vocabulary, queries

LXML_VOCABULARY = Vocabulary(
    elements=ELEMENT_NAMES,
    attributes=ATTRIBUTE_NAMES,
    uris=("", *NAMESPACE_URIS),
    texts=VALUES,
    any_namespace=False,
)


def tree(document: bytes) -> Tree:
    return tree_of(reader.read(document, Limits(), {}, False).events)


def lxml_tree(document: bytes) -> etree._ElementTree:
    parser = etree.XMLParser(
        resolve_entities=True, attribute_defaults=True, no_network=True, huge_tree=True
    )
    parsed = etree.fromstring(document, parser)
    # lxml makes text nodes of empty CDATA sections, which XPath does not know: once out and in
    # again, they are gone.
    return etree.fromstring(etree.tostring(parsed), parser).getroottree()


def shape(element: etree._Element, spell: Callable[[str, str], str]) -> object:
    """Everything about an element that a query can see."""
    if not isinstance(element.tag, str):
        return "comment or instruction"

    def spelled(name: str) -> str:
        qualified = etree.QName(name)
        return spell(qualified.namespace or "", qualified.localname)

    return (
        spelled(element.tag),
        {spelled(str(name)): value for name, value in element.attrib.items()},
        element.text or "",
        [(shape(child, spell), child.tail or "") for child in element],
    )


@given(documents)
def test_trees_equal_those_of_lxml(document: bytes) -> None:
    built = tree(document).root.getroot()
    # Namespaces are escaped in the tree, since lxml does not take them all.
    unchanged = etree.QName
    assert shape(built, lambda uri, local: unchanged(uri or None, local).text) == shape(
        lxml_tree(document).getroot(), lxml_name
    )


def described(tree: etree._ElementTree, nodes: Sequence[object]) -> list[object]:
    """Nodes of different trees in a comparable form."""
    number = {element: at for at, element in enumerate(tree.iter())}
    return [number[node] if isinstance(node, etree._Element) else str(node) for node in nodes]


@given(documents, queries(LXML_VOCABULARY))
def test_queries_select_the_same_as_lxml(document: bytes, query: Query) -> None:
    printed = to_text(query)
    lxmls = lxml_tree(document)
    namespaces = {**NAMESPACES, **printed.namespaces}
    expected = lxmls.xpath(printed.text, namespaces=namespaces, extensions=EXTENSIONS)
    assert isinstance(expected, list)
    ours = tree(document).root
    found = compile_query(query)(ours)
    assert described(ours, found) == described(lxmls, expected)
