"""The reference of restrictions, on examples that can be checked by eye."""

from __future__ import annotations

import pytest

from penstock.language import parse
from penstock.sync.reference.restriction import canonical_xml, parse_document, restrict

PRODUCTS = (
    b'<Product v="1"><!--c--><Computers n="2">x<Item id="1"><Brand>XYZ</Brand></Item>y'
    b'<Item id="2"><Brand>ABC</Brand><?p q?></Item>z</Computers><Components/></Product>'
)


def restricted(content: bytes, query: str, **namespaces: str) -> bytes:
    return restrict(parse_document(content), parse(query, namespaces=namespaces)).canonical_xml()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/Product", PRODUCTS.replace(b"<Components/>", b"<Components></Components>")),
        ("/Nothing", b""),
        ("/Product[Computers/@n = 3]", b""),
        (
            "//Item[Brand = 'ABC']",
            b'<Product><Computers><Item id="2"><Brand>ABC</Brand><?p q?></Item></Computers>'
            b"</Product>",
        ),
        (
            "//Item/@id",
            b'<Product><Computers><Item id="1"></Item><Item id="2"></Item></Computers></Product>',
        ),
        ("/Product/Computers/text()", b"<Product><Computers>xyz</Computers></Product>"),
        (
            "//Item[1]/Brand | /Product/Computers/text()[2]",
            b"<Product><Computers><Item><Brand>XYZ</Brand></Item>y</Computers></Product>",
        ),
    ],
)
def test_selected_nodes_with_subtrees_and_bare_ancestors(query: str, expected: bytes) -> None:
    assert restricted(PRODUCTS, query) == expected


def test_bare_ancestors_keep_namespace_declarations() -> None:
    content = b'<p:a xmlns:p="urn:p" xmlns="urn:q" p:k="1"><b><c k="p:x"/></b><d xmlns=""/></p:a>'
    expected = b'<p:a xmlns="urn:q" xmlns:p="urn:p"><b><c k="p:x"></c></b></p:a>'
    assert restricted(content, "//p:c", p="urn:q") == expected
    expected = b'<p:a xmlns="urn:q" xmlns:p="urn:p"><d xmlns=""></d></p:a>'
    assert restricted(content, "//d") == expected


def test_a_restriction_to_everything_is_the_document() -> None:
    tree = parse_document(PRODUCTS)
    for exclusive in (False, True):
        everything = restrict(tree, parse("/*")).canonical_xml(exclusive=exclusive)
        assert everything == canonical_xml(tree.getroot(), exclusive=exclusive)
