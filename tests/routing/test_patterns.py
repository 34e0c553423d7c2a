"""Patterns: keys, sizes, minimisation, containment and upper bounds, compared on documents."""

from __future__ import annotations

import pytest
from hypothesis import given

from penstock.errors import QueryError
from penstock.language import Query, contains, parse
from penstock.language.limits import KEYWORDS_MAX
from penstock.routing import UNIVERSAL, Pattern, SampledDocuments
from penstock.routing.limits import MINIMISATION_TRIALS_MAX
from penstock.routing.minimisation import minimise
from penstock.routing.pattern_generalisation import upper_bounds, weaker_patterns
from penstock.routing.query_size import node_count
from support.strategies.patterns import path_queries, patterns, sample_documents

SAMPLE = SampledDocuments.of(sample_documents(3, 60))


@given(path_queries)
def test_a_minimised_query_matches_the_same_documents(query: Query) -> None:
    smaller = minimise(query)
    assert node_count(smaller) <= node_count(query)
    whole, minimised = SAMPLE.match_bits([Pattern(query), Pattern(smaller)])
    assert whole == minimised


@pytest.mark.parametrize(
    ("query", "minimal"),
    [
        ("/a[b]/b/c", "/a/b/c"),
        ("/a[.//c]/b/c", "/a/b/c"),
        ("/a[@n > 3][@n = 5]", "/a[@n = 5]"),
        ("/a[b[c]/@n][b]", "/a[b[c]/@n]"),
        ("/a/b | /a//b", "/a//b"),
        ("/a[b][1]", "/a[b]"),
        ("/a/b[2][@n]", "/a/b[2][@n]"),
        ("/a[b[c][c/d]]", "/a[b/c/d]"),
    ],
)
def test_redundant_parts_are_removed(query: str, minimal: str) -> None:
    assert Pattern.of_path(query) == Pattern(minimise(parse(minimal)))
    assert str(Pattern.of_path(query)) == minimal


@given(patterns, patterns)
def test_what_is_contained_matches_no_other_documents(one: Pattern, two: Pattern) -> None:
    first, second = SAMPLE.match_bits([one, two])
    if one.contains(two):
        assert second & ~first == 0
    if two.contains(one):
        assert first & ~second == 0


@given(patterns, patterns)
def test_an_upper_bound_contains_both(one: Pattern, two: Pattern) -> None:
    bounds = list(upper_bounds(one, two))
    assert bounds
    first, second, *upper = SAMPLE.match_bits([one, two, *bounds])
    for bound, bits in zip(bounds, upper, strict=True):
        assert bound.contains(one)
        assert bound.contains(two)
        assert (first | second) & ~bits == 0


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        # A predicate that neither has would be tested at every element, and excludes hardly any.
        ("/news/item[line/title]", "/news/item[map/title]", "/news/item"),
        ("/news/*[fact//quote]/team", "/news/*[team//work]/team", "/news/*/team"),
        ("/news[@genre = 3]/a", "/news[@version = 4]/a", "/news/a"),
        # What both require remains, and what names of both have in common.
        ("/news[*/work]/a", "/news[*/work]/b", "/news[*/work]/*"),
        ("/news[.//work/a]/c", "/news[item/work/a]/c", "/news[.//work/a]/c"),
        ("/news[@n = 3]/a", "/news[@n = 4]/a", "/news[@n <= 4][@n >= 3]/a"),
        ("/a[b/x][1]", "/a[c/x][1]", "/a"),
    ],
)
def test_an_upper_bound_has_no_new_predicates_with_wildcards(
    one: str, two: str, expected: str
) -> None:
    (bound,) = upper_bounds(Pattern.of_path(one), Pattern.of_path(two))
    assert str(bound) == expected


@given(patterns)
def test_a_key_restores_its_pattern(pattern: Pattern) -> None:
    restored = Pattern.from_key(pattern.key)
    assert restored == pattern
    assert restored.digest == pattern.digest
    assert restored.size == pattern.size
    assert UNIVERSAL.contains(pattern)


def test_prefixes_do_not_distinguish_patterns() -> None:
    one = Pattern.of_path("/x:a/x:b", namespaces={"x": "urn:x"})
    two = Pattern.of_path("/a/b", default_namespace="urn:x")
    assert one == two
    assert one != Pattern.of_path("/a/b")
    assert not one.contains(Pattern.of_path("/a/b"))


def test_a_pattern_with_fewer_header_tests_contains_one_with_more() -> None:
    every = Pattern.of_path("/a")
    english = Pattern.of_path("/a", where={"lang": "en"})
    assert every.contains(english)
    assert not english.contains(every)
    assert not english.contains(Pattern.of_path("/a", where={"lang": "de"}))


def test_only_a_universal_path_contains_keywords() -> None:
    storm = Pattern.of_keywords("storm")
    assert Pattern.of_path("//*").contains(storm)
    assert not Pattern.of_path("//storm").contains(storm)
    assert not storm.contains(Pattern.of_path("//storm"))
    assert [bound.text for bound in upper_bounds(storm, Pattern.of_path("/a"))] == ["/*"]


def test_invalid_header_tests_are_refused() -> None:
    with pytest.raises(QueryError) as caught:
        Pattern.of_path("/a", where={"": "x"})
    assert caught.value.code == "subscription.where"


def test_keywords_without_a_common_generalisation_have_the_universal_pattern() -> None:
    many = range(KEYWORDS_MAX // 2 + 1)
    one, two = (
        Pattern.of_keywords(" OR ".join(f"{letter}{number}" for number in many)) for letter in "vw"
    )
    assert list(upper_bounds(one, two)) == [UNIVERSAL]


def test_a_long_text_counts_as_several_nodes() -> None:
    short, long = Pattern.of_path("/a[@n = 'x']"), Pattern.of_path(f"/a[@n = '{'x' * 6_400}']")
    assert short.size == 3
    assert 200 <= long.size <= 203
    assert Pattern.of_keywords("w" * 250).size == 8


@given(patterns)
def test_weaker_patterns_contain_the_pattern_and_are_smaller(pattern: Pattern) -> None:
    for weaker in weaker_patterns(pattern):
        assert weaker.contains(pattern)
        assert weaker.size < pattern.size
        assert weaker.where == pattern.where


def test_parts_behind_necessary_ones_are_removed() -> None:
    necessary = " and ".join(f"c{number}" for number in range(10))
    redundant = " and ".join(f"@z > {number}" for number in range(10))
    expected = minimise(parse(f"/a[{necessary} and @z > 9]"))
    assert minimise(parse(f"/a[{necessary} and {redundant}]")) == expected


def test_the_removals_that_are_tried_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = []

    def count(first: Query, second: Query) -> bool:
        trials.append(second)
        return contains(first, second)

    monkeypatch.setattr("penstock.routing.minimisation.contains", count)
    minimise(parse("|".join(f"//a{number}" for number in range(MINIMISATION_TRIALS_MAX * 2))))
    assert len(trials) <= 2 * MINIMISATION_TRIALS_MAX
