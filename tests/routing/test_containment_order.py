"""The containment order, compared with testing all pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.language import Query, why_never
from penstock.routing import Pattern, containment_order, containment_search
from penstock.routing.containment_order import FixedOrder
from penstock.routing.containment_search import FixedSearch
from support.strategies.patterns import patterns


def can_match(pattern: Pattern) -> bool:
    return not isinstance(pattern.query, Query) or why_never(pattern.query) is None


@given(st.lists(patterns.filter(can_match), max_size=10))
def test_the_order_is_that_of_all_pairs(given_patterns: list[Pattern]) -> None:
    distinct = set(given_patterns)
    above = {(p, q) for p in distinct for q in distinct if p != q and p.contains(q)}
    strict = {(p, q) for p, q in above if (q, p) not in above}
    expected = {
        (p, q): not any((p, m) in strict and (m, q) in strict for m in distinct) for p, q in above
    }
    found = containment_order(given_patterns)
    assert {(pair.container, pair.contained): pair.is_direct for pair in found} == expected
    assert len(found) == len(expected)
    assert found == containment_order(reversed(given_patterns))


@given(st.lists(patterns, max_size=10, unique=True))
def test_the_order_of_a_fixed_set_is_the_same(given_patterns: list[Pattern]) -> None:
    order = FixedOrder([pattern.key for pattern in given_patterns])
    found = {
        (given_patterns[container], contained): is_direct
        for number, contained in enumerate(given_patterns)
        for container, is_direct in order.above(number).items()
    }
    pairs = containment_order(given_patterns)
    assert found == {(pair.container, pair.contained): pair.is_direct for pair in pairs}


def test_a_path_that_every_document_matches_contains_keywords() -> None:
    given_patterns = [
        Pattern.of_keywords("storm", where={"lang": "en"}),
        Pattern.of_path("//*", where={"lang": "en"}),
        Pattern.of_path("/* | /a"),
        Pattern.of_path("/*", where={"lang": "de"}),
    ]
    order = FixedOrder([pattern.key for pattern in given_patterns])
    assert order.above(0).keys() == {1, 2}


def test_equivalent_patterns_contain_each_other() -> None:
    one, two = Pattern.of_path("/a[b]"), Pattern.of_path("/a/b")
    pairs = containment_order([one, two, Pattern.of_path("//b"), one])
    assert [(str(pair.container), str(pair.contained), pair.is_direct) for pair in pairs] == [
        ("//b", "/a/b", True),
        ("//b", "/a[b]", True),
        ("/a/b", "/a[b]", True),
        ("/a[b]", "/a/b", True),
    ]


def test_patterns_that_nothing_contains_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of many subscriptions most have no container, and parsing took longer than the search.
    keys = [Pattern.of_path(query).key for query in ("/a/b", "/a/c[@n > 3]", "//d/*")]
    search = FixedSearch(keys)
    parsed: list[str] = []
    monkeypatch.setattr(containment_search, "parse_normal", lambda text, **_: parsed.append(text))
    assert [search.containers(number) for number in range(3)] == 3 * [frozenset()]
    assert parsed == []
