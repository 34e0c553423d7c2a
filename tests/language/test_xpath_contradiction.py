"""Exactly the impossible positions are found."""

from __future__ import annotations

import pytest
from hypothesis import given
from lxml import etree

from penstock.language import parse, why_never
from penstock.language.relations.reference.position_contradictions import miscounts
from penstock.language.xpath.ast import Query
from support.fixtures.lxml_selection import lxml_selects, small_trees
from support.strategies.queries import Vocabulary, queries

COUNTING = Vocabulary(
    elements=("a",), attributes=("p",), texts=("", "x"), numbers=(1.0,), positions=(1.0, 2.0, 3.0)
)
"""A small vocabulary, so that conditions are often on positions."""


@given(queries(COUNTING, max_branches=1, max_depth=1), small_trees(COUNTING))
def test_impossible_positions_select_nothing(query: Query, root: etree._Element) -> None:
    assert not (miscounts(query.branches[0]) and lxml_selects(query, root))


@pytest.mark.parametrize(
    "text",
    [
        "/a[2]",
        "/*[last() > 1]",
        "//a[1][2]",
        "//a[last()][position() = 2]",
        "//a[position() < 3][b][3]",
        "//a[last() = 2][3]",
        "//a[position() = 2 or position() = 3][3]",
        "//a[position() = 2 and last() = 1]",
        "//a/@p[2]",
        "//a[b[1][2] and c]",
        "//a[b[1][2] = 'x' or @p[2]]",
        "//a[contains(b[1][2], 'x')]",
        "/a[2] | //b[1][2]",
    ],
)
def test_flagged(text: str) -> None:
    assert all(miscounts(branch) for branch in parse(text).branches)
    assert why_never(parse(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "//a[2]",
        "/a[1]",
        "//a[1][1]",
        "//a[2][1][last()]",
        "//a[position() > 1][2]",
        "//a[position() = 2 or position() = 3][2]",
        "//a[position() = 2 or b][2]",
        "//a[not(b[1][2])]",
        "//a[contains(b[1][2], '')]",
        "//a/@*[2]",
        "//a/@*:p[2]",
        "/a/b[2]",
        "/a[2] | //b[2]",
    ],
)
def test_not_flagged(text: str) -> None:
    assert not all(miscounts(branch) for branch in parse(text).branches)
