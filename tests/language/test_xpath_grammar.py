"""The grammar accepts every form, with the meaning that lxml gives it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from lxml import etree

from penstock.language import parse, to_text
from penstock.language.xpath.ast import Query
from penstock.language.xpath.reference import parser as reference
from support.fixtures.lxml_selection import lxml_selects, places, small_trees
from support.strategies.queries import PLAIN

Parse = Callable[[str], Query]

ACCEPTED = {
    # Steps, short and in full.
    "a": "/a",
    "./a": "/a",
    "/./a/.": "/a",
    ".//a": "//a",
    "//./a": "//a",
    "a//.//b": "/a//b",
    "child::a/attribute::p": "/a/@p",
    "/descendant-or-self::node()/child::a": "//a",
    "a/descendant-or-self::node()//b": "/a//b",
    "self::node()/descendant::a[b]": "//a[b]",
    "a/self::node()/b": "/a/b",
    "descendant::text()": "//text()",
    "a//@p": "/a//@p",
    "a/@*": "/a/@*",
    "//text()[1]": "//text()[1]",
    "a/child::*": "/a/*",
    # White space.
    " a \t/ \n b\r[ @ p = 1 ] ": "/a/b[@p = 1]",
    "child :: a [ position ( ) = last ( ) ]": "/a[last()]",
    "a/text ( )": "/a/text()",
    "a[not ( b )]": "/a[not(b)]",
    # Names that look like something else.
    "and[or]/div/mod[and and or or not]": "/and[or]/div/mod[and and or or not]",
    "*[* and *]": "/*[* and *]",
    "text/node[comment]": "/text/node[comment]",
    "child/self": "/child/self",
    "a-b/c.d[e-1 = 1]": "/a-b/c.d[e-1 = 1]",
    "_é/ñ·1": "/_é/ñ·1",
    "a[contains]": "/a[contains]",
    # Comparisons.
    "a['x'=b]": "/a[b = 'x']",
    "a[1<b][1<=b][1>b][1>=b][1!=b]": "/a[b > 1][b >= 1][b < 1][b <= 1][b != 1]",
    "a[(b)='x'][((b))!=(1)]": "/a[b = 'x'][b != 1]",
    "a[b=-1][b=--1][b=-.50]": "/a[b = -1][b = 1][b = -0.5]",
    'a[. = "it\'s"]': '/a[. = "it\'s"]',
    "a[text()='x'][.//b>2.]": "/a[text() = 'x'][.//b > 2]",
    "a[b[c='x']/@p>1]": "/a[b[c = 'x']/@p > 1]",
    "a[b='']": "/a[b = '']",
    # Joined.
    "a[b or c and d]": "/a[b or c and d]",
    "a[(b or c) and d]": "/a[(b or c) and d]",
    "a[b and (c and d)]": "/a[b and (c and d)]",
    "a[b|c]": "/a[b or c]",
    "a[not(b|c) and (d|e)]": "/a[not(b or c) and (d or e)]",
    "a[b][(c|d)|(e)]": "/a[b][c or d or e]",
    # Positions.
    "a[3][-1][1.5]": "/a[3][-1][1.5]",
    "a[last()]": "/a[last()]",
    "a[last()>position()]": "/a[position() < last()]",
    "a[2<=last() and 1=position()]": "/a[last() >= 2 and position() = 1]",
    "a[b[2]]": "/a[b[2]]",
}


@pytest.mark.parametrize("parse", [parse, reference.parse], ids=["parse", "reference"])
@pytest.mark.parametrize(("text", "printed"), ACCEPTED.items())
def test_accepted(parse: Parse, text: str, printed: str) -> None:
    assert to_text(parse(text)).text == printed


@given(small_trees(PLAIN))
def test_every_form_selects_the_same_as_lxml(root: etree._Element) -> None:
    for text in ACCEPTED:
        # lxml would start a relative path at the root element.
        by_lxml = root.getroottree().xpath(text if text.startswith("/") else f"/{text}")
        assert lxml_selects(parse(text), root) == places(by_lxml), text


def test_unions_in_parentheses_are_unions() -> None:
    assert parse("(a|b)|(c)") == parse("((a) | b | c)") == parse("a|b|c")


def test_printing_uses_given_prefixes_and_generates_others() -> None:
    names = {"p": "urn:x", "q": "urn:x", "ns1": "urn:z"}
    query = parse("p:a/m:b/@n:c/.", namespaces={"p": "urn:x", "m": "urn:y", "n": "urn:y"})
    printed = to_text(query, names)
    assert printed.text == "/p:a/ns2:b/@ns2:c"
    assert printed.namespaces == {"p": "urn:x", "ns2": "urn:y"}
    assert str(printed) == printed.text


def test_the_prefix_xml_needs_no_binding() -> None:
    query = parse("//@xml:lang")
    printed = to_text(query)
    assert (printed.text, printed.namespaces) == ("//@xml:lang", {})


def test_any_namespace_and_default_namespace() -> None:
    query = parse("a/*:b/@c/.", default_namespace="urn:d")
    tests = [(step.test.uri, step.test.local) for step in query.branches[0].steps]
    assert tests == [("urn:d", "a"), (None, "b"), ("", "c")]
