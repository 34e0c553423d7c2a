"""The normal form selects the same nodes and is the same in Python and Rust."""

from __future__ import annotations

import pytest
from hypothesis import given
from lxml import etree

from penstock.language import normalise, parse, parse_normal, to_text
from penstock.language.xpath.ast import Query
from penstock.native import native
from support.fixtures.lxml_selection import lxml_selects, small_trees
from support.strategies.queries import NAMESPACED, PLAIN, Vocabulary, queries

ONE_NAME = Vocabulary(
    elements=("a",), attributes=("p",), texts=("", "x", "1", "2"), numbers=(0.0, 1.0, 2.0)
)
"""A small vocabulary, so that documents often satisfy conditions."""


def normal_text(text: str) -> str:
    return to_text(normalise(parse(text))).text


@given(queries(PLAIN, max_branches=2), small_trees(PLAIN))
def test_selects_the_same_nodes(query: Query, root: etree._Element) -> None:
    assert lxml_selects(normalise(query), root) == lxml_selects(query, root)


@given(queries(ONE_NAME, max_branches=1), small_trees(ONE_NAME))
def test_selects_the_same_nodes_among_few_names(query: Query, root: etree._Element) -> None:
    assert lxml_selects(normalise(query), root) == lxml_selects(query, root)


@given(queries(NAMESPACED))
def test_normalising_again_changes_nothing(query: Query) -> None:
    once = normalise(query)
    assert normalise(once) == once


@given(queries(NAMESPACED))
def test_a_normal_form_is_a_query(query: Query) -> None:
    printed = to_text(normalise(query))
    assert parse(printed.text, namespaces=printed.namespaces) == normalise(query)


@pytest.mark.skipif(native is None, reason="the native core is not built")
@given(queries(NAMESPACED))
def test_the_native_core_has_the_same_normal_form(query: Query) -> None:
    printed = to_text(query)
    natively = parse_normal(printed.text, namespaces=printed.namespaces)
    assert natively == normalise(query)
    # Values that are equal in Python may differ: 0 and -0, 1 and 1.0.
    assert repr(natively) == repr(normalise(query))


@pytest.mark.parametrize(
    "texts",
    [
        ["a/b", "/a/b", "./a/./b", "child::a/child::b", " / a / b "],
        ["//a", ".//a", "descendant::a", "/descendant-or-self::node()/a", "//.//a"],
        ["a | b", "b | a", "a | b | a", "(b) | (a | b)"],
        ["a[b and c]", "a[c and b]", "a[b][c]", "a[c][b][c]", "a[b and (c and b)]"],
        ["a[b or c]", "a[c or (b or c)]", "a[b | c]", "a[not(not(b) and not(c))]"],
        ["a[b]", "a[not(not(b))]", "a[b][.]", "a[b and .]", "a[b or not(.)]", "a[./b]"],
        ["a[1 < b]", "a[b > 1.0]", "a[b > '1']", "a[b > ' 1. ']"],
        ["a[b/c]", "a[b[c]]", "a[b[c[.]]]"],
        ["a[b[c]/d]", "a[b[d]/c]", "a[b[c][d]]", "a[b[d and c]]"],
        ["a[b = 'x']", "a[b[. = 'x']]", "a['x' = b]"],
        ["a[b[@p = 'x']]", "a[b/@p = 'x']", "a[b/@p[. = 'x']]"],
        ["a[2]", "a[position() = 2]", "a[2.0]", "a[not(position() != 2)]"],
        [
            "a[1]",
            "a[position() <= 1]",
            "a[position() < 2]",
            "a[position() < 1.5]",
            "a[2 > position()]",
        ],
        ["a[position() >= 2]", "a[position() > 1]", "a[position() != 1]", "a[not(1 = position())]"],
        [
            "a",
            "a[position() >= 1]",
            "a[last() > 0]",
            "a[position() <= last()]",
            "a[contains(b, '')]",
        ],
        ["a[last()]", "a[position() >= last()]", "a[not(position() != last())]"],
        ["a[1][b][c]", "a[position() = 1 and c and b]", "a[b and 1 >= position()][c]"],
        ["a[b][1]", "a[b][1][b]"],
        [
            "a[0]",
            "b[1.5]",
            "c[not(.)]",
            "a[b < 'x']",
            "a[b and not(.)]/c | d[b[0]]",
            "a[position() > last()]",
        ],
    ],
    ids=lambda texts: texts[0],
)
def test_equivalent_queries_have_one_normal_form(texts: list[str]) -> None:
    assert len({normalise(parse(text)) for text in texts}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a[not(b = 'x')]", "a[b != 'x']"),
        ("a[not(b < 1)]", "a[b >= 1]"),
        ("a[b = '1']", "a[b = 1]"),
        ("a[b = '1']", "a[b = '1.0']"),
        ("a[b][1]", "a[1][b]"),
        ("a[1][2]", "a[2][1]"),
        ("a[1][1]", "a[1]"),
        ("a[position() > 1 and last() > 2]", "a[position() > 1][last() > 2]"),
        ("a[b[1]/c]", "a[b[c][1]]"),
        ("a[contains(b, 'x')]", "a[b[contains(., 'x')]]"),
        ("a/b", "a[b]"),
        ("//a[1]", "/a[1]"),
        ("a[b/c][b/d]", "a[b[c][d]]"),
    ],
)
def test_different_queries_have_different_normal_forms(one: str, other: str) -> None:
    assert normalise(parse(one)) != normalise(parse(other))


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("b|a", "/a | /b"),
        ("a[not(c or b[@p and 2 > @q])]", "/a[not(c)][not(b[@p]/@q < 2)]"),
        ("a[not(position() < 3 and b)]", "/a[not(b) or position() >= 3]"),
        ("a[b or contains(c[d and e], 'x')]", "/a[b or contains(c[d][e], 'x')]"),
        ("a[0]", "/*[not(.)]"),
        ("a[0] | b", "/b"),
        ("a[b or text()[. = 'x'][@p = 'y']]", "/a[b]"),
        ("a/@p[b = 'x']", "/*[not(.)]"),
        ("a/text()[not(b)][contains(., 'x') or contains(b, '')]", "/a/text()"),
        ("a[not(contains(b[0], 'x'))]", "/a"),
        ("a[. = -0]", "/a[. = 0]"),
        ("a[. < '-0']", "/a[. < 0]"),
        ("a[position() < " + "1" * 400 + "]", "/a"),
    ],
)
def test_normal_forms(text: str, normal: str) -> None:
    assert normal_text(text) == normal
    assert to_text(parse_normal(text)).text == normal
