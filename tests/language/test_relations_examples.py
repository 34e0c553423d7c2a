"""The relations on queries small enough to check by eye."""

from __future__ import annotations

import pytest

from penstock.language import parse
from penstock.language.relations.decisions import why_never
from penstock.language.relations.reference import decisions as reference
from penstock.language.relations.reference.satisfiability import possible_patterns
from penstock.language.relations.verdicts import Verdict, relate
from penstock.schema import SchemaGraph
from support.fixtures.both_relations import contains, covers, disjoint, overlaps

FLAT_ITEMS = SchemaGraph.from_dtd(
    """<!ELEMENT items (item*)> <!ELEMENT item (name, price?)>
    <!ELEMENT name (#PCDATA)> <!ELEMENT price (#PCDATA)>
    <!ATTLIST item price CDATA #REQUIRED lang (en | de) #IMPLIED>"""
)
NESTED_ITEMS = SchemaGraph.from_dtd(
    "<!ELEMENT items (item*)> <!ELEMENT item (item*)> <!ATTLIST item price CDATA #REQUIRED>"
)

CONTAINED = [
    # structure
    ("/product/*", "/product/computers"),
    ("/a/b", "/a/b/c"),
    ("//a", "/x/a/b"),
    ("/a/b", "/a[b]"),
    ("/a/*//b", "/a//*/b"),
    ("/a//*/b", "/a/*//b"),
    ("//*[b]", "/a//b"),
    ("//*/@p", "//@p"),
    ("//@p", "//*/@p"),
    ("//a//b", "//a/a/b"),
    ("/a[.//b]", "/a//c/b"),
    ("/a[b[c]]", "/a[b/c/d]"),
    ("/*", "//text()"),
    # unions, duplicates
    ("/a | /b", "/b/c"),
    ("/a | /*/*", "/b/c | /a | /a"),
    ("/a[b] | /a[c]", "/a[b or c]"),
    # values
    ("/a[@n]", "/a[@n = 'x']"),
    ("/a[@n < 10]", "/a[@n = 5]"),
    ("/a[@n < 10]", "/a[@n = '5']"),
    ("/a[@n < 10]", "/a[@n <= 9.5]"),
    ("/a[@n != 'x']", "/a[@n = 'y']"),
    ("/a[@n != 3]", "/a[@n > 3]"),
    ("/a/@n[. > 1 and . < 9]", "/a[@n > 2][@n < 8]"),
    ("/a[contains(@n, 'b')]", "/a[starts-with(@n, 'abc')]"),
    ("/a[contains(@n, '')]", "/a"),
    ("/a[text() != '']", "/a/text()"),
    # and, or, not
    ("/a[b or c]", "/a[c]"),
    ("/a[b and c]", "/a[c][b]"),
    ("/a[not(b)]", "/a[not(b) and c]"),
    ("/a[not(b[c])]", "/a[not(b)]"),
    ("/a[not(@x = 'y')]", "/a[@x = 'z']"),
    ("/a[not(b or c)]", "/a[not(b)][not(c)]"),
    ("/a[not(@n < 3)]", "/a[@n > 5]"),
    # positions
    ("/a/b[1]", "/a/b/c"),
    ("/a/b[last()]", "/a/b"),
    ("/a/b[2]", "/a/b[2]/c"),
    ("/a/b[position() > 1]", "/a/b[3]"),
    ("/a/b", "/a/b[3]"),
]


@pytest.mark.parametrize(("p", "q"), CONTAINED)
def test_contains(p: str, q: str) -> None:
    assert contains(parse(p), parse(q))


NOT_CONTAINED = [
    ("/product/computers", "/product/*"),
    ("/a[b]/c", "/a/b"),
    ("/a/*/b", "/a/*//b"),
    ("//*[b]", "//b"),
    ("//a/@p", "//@p"),
    ("/a[@n = 5]", "/a[@n < 10]"),
    ("/a[@n = '5']", "/a[@n = 5]"),  # "5.0" is 5
    ("/a[@n >= 3]", "/a[not(@n < 3)]"),  # there may be no @n, or no number in it
    ("/a[@x != 'y']", "/a[not(@x = 'y')]"),
    ("/a/b[. > 1 and . < 9]", "/a[b > 2][b < 8]"),  # two different b
    ("/a[contains(b, 'x')]", "/a[b[contains(., 'x')]]"),  # only the first b counts
    ("/a/b[2]", "/a/b"),
    ("/a/b[1]/c", "/a/b/c"),
    ("/a/b[c][1]/d", "/a/b[1][c]/d"),  # counted among others
    ("/a[not(b)]", "/a[not(b[c])]"),
    ("/a[b]", "/a[b or c]"),
]


@pytest.mark.parametrize(("p", "q"), NOT_CONTAINED)
def test_does_not_contain(p: str, q: str) -> None:
    assert not contains(parse(p), parse(q))


def test_covering_compares_nodes_and_containing_documents() -> None:
    whole, part = parse("/a[b]"), parse("/a/b")
    assert contains(part, whole)
    assert not covers(part, whole)
    assert covers(whole, part)


def test_covering_with_a_first_child_is_not_covering_all() -> None:
    assert contains(parse("/a/b[1]"), parse("/a/b"))
    assert not covers(parse("/a/b[1]"), parse("/a/b"))


def test_ranges_of_one_attribute_exclude_each_other() -> None:
    assert disjoint(parse("/items/item[@price < 10]"), parse("/items/item[@price > 30]"))


def test_ranges_of_an_attribute_under_descendants_need_a_schema_without_nesting() -> None:
    cheap, dear = parse("//item[@price < 10]"), parse("//item[@price > 30]")
    assert overlaps(cheap, dear)
    assert overlaps(cheap, dear, NESTED_ITEMS)
    assert disjoint(cheap, dear, FLAT_ITEMS)


def test_ranges_of_children_exclude_each_other_only_where_there_is_one() -> None:
    cheap, dear = parse("/items/item[price < 10]"), parse("/items/item[price > 30]")
    assert overlaps(cheap, dear)
    assert disjoint(cheap, dear, FLAT_ITEMS)
    assert disjoint(cheap, dear, single_valued=[("", "price")])


def test_ranges_of_different_items_do_not_exclude_each_other() -> None:
    cheap, dear = parse("/items[item/@price < 10]"), parse("/items[item/@price > 30]")
    assert overlaps(cheap, dear)
    assert overlaps(cheap, dear, FLAT_ITEMS)


def test_whether_brands_overlap_computers_depends_on_the_schema() -> None:
    brands, computers = parse("//brand"), parse("/product/computers")
    inside = "<!ELEMENT product (computers)> <!ELEMENT computers (brand)> <!ELEMENT brand EMPTY>"
    parts = "<!ELEMENT product (computers, brand)> <!ELEMENT computers EMPTY>"
    assert overlaps(brands, computers)
    assert overlaps(brands, computers, SchemaGraph.from_dtd(inside))
    declared = SchemaGraph.from_dtd(parts + "<!ELEMENT brand EMPTY>")
    assert disjoint(brands, computers, declared)


def test_what_a_schema_requires_is_contained() -> None:
    choice = SchemaGraph.from_dtd(
        "<!ELEMENT a (b | c)> <!ELEMENT b (d)> <!ELEMENT c (d)> <!ELEMENT d EMPTY>"
    )
    assert contains(parse("/a/*/d"), parse("/a"), choice)
    assert contains(parse("/a[b or c]"), parse("/a[not(b)]/c"), choice)
    assert not contains(parse("/a/b"), parse("/a"), choice)
    assert not covers(parse("/a/*/d"), parse("/a"), choice)
    assert contains(parse("//@price"), parse("//item"), FLAT_ITEMS)
    assert not contains(parse("//item"), parse("/items"), FLAT_ITEMS)


def test_a_choice_excludes_what_was_not_chosen() -> None:
    choice = SchemaGraph.from_dtd("<!ELEMENT a (b | c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>")
    assert disjoint(parse("/a[b]"), parse("/a[c]"), choice)
    assert overlaps(parse("/a[b]"), parse("/a[c]"))


NEVER = [
    ("/items/thing", "element 'thing' at step 2"),
    ("/items//@colour", "attribute 'colour' at step 2"),
    ("/items/item[@lang = 'fr']", "predicate 1 of step 2"),
    ("/items/item[name][item]", "predicate 2 of step 2"),
    ("/items[text() = 'x']", "predicate 1 of step 1"),
    ("/items/item[price < 1][price > 2]", "predicate 2 of step 2"),
    ("/items/item[not(@price)]", "predicate 1 of step 2"),
]


@pytest.mark.parametrize(("query", "reason"), NEVER)
def test_a_query_that_no_valid_document_matches_is_flagged(query: str, reason: str) -> None:
    assert why_never(parse(query)) is None
    assert reason in (why_never(parse(query), FLAT_ITEMS) or "")


@pytest.mark.parametrize(
    "query", ["/items/item[@lang = 'en']", "//name/text()", "/items/text()", "//@*", "/*/*/*"]
)
def test_a_query_that_some_valid_document_matches_is_not_flagged(query: str) -> None:
    assert why_never(parse(query), FLAT_ITEMS) is None


RELATED = [
    ("/a/*", "/*/b", Verdict.OVERLAPS),
    ("/a/b", "/a/b", Verdict.EQUAL),
    ("/a/*//b", "/a//*/b", Verdict.EQUAL),
    ("//b", "/a/b", Verdict.CONTAINS),
    ("/a/b", "//b", Verdict.CONTAINED),
    ("/a", "/b", Verdict.DISJOINT),
]


@pytest.mark.parametrize(("p", "q", "verdict"), RELATED)
def test_relate_is_exact_for_linear_paths(p: str, q: str, verdict: Verdict) -> None:
    relation = relate(parse(p), parse(q))
    assert relation.verdict is verdict
    assert relation.sure


def test_relate_reports_uncertainty() -> None:
    relation = relate(parse("/a[contains(b, 'x')]"), parse("/a[b[contains(., 'x')]]"))
    assert relation.verdict is Verdict.CONTAINED
    assert relation.sure
    assert not relation.contains.sure
    assert not relate(parse("/a[b < 1]"), parse("/a[b > 2]")).sure
    assert relate(parse("/a[@b < 1]"), parse("/a[@b > 2]")).sure


def test_relate_explains() -> None:
    relation = relate(parse("/a/*"), parse("/*/b"))
    assert relation.explanation == "neither contains the other; nodes of both can meet at /a/b"
    assert relation.overlaps.witness == "<a><b></b></a>"
    never = relate(parse("/a[@n < 1][@n > 2]"), parse("/a"))
    assert never.explanation.startswith("the first never matches")
    apart = relate(parse("/a/b"), parse("/a[b]/c"))
    assert apart.verdict is Verdict.CONTAINS
    assert "yet no node" in apart.explanation


def test_bounded_work_errs_on_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow, other = parse("//a//b"), parse("/a/c/b/d"), parse("/x//a")
    assert reference.contains(wide, narrow)
    assert reference.covers(wide, narrow)
    assert not reference.overlaps(narrow, other)
    monkeypatch.setattr("penstock.language.relations.reference.prover.MAX_PROOF_STEPS", 0)
    assert not reference.contains(wide, narrow)
    assert not reference.covers(wide, narrow)
    assert reference.overlaps(narrow, other)
    assert reference.why_never(parse("/items/item/name/thing"), FLAT_ITEMS) is None
    assert not relate(wide, narrow).overlaps.sure


def test_too_many_alternatives_of_an_or_are_not_distinguished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p, q, other = parse("/a[b or c or d]/e"), parse("/a[b or c]/e/f"), parse("/a/f")
    assert reference.contains(p, q)
    possible_patterns.cache_clear()
    monkeypatch.setattr("penstock.language.relations.reference.tree_patterns.MAX_CLAUSES", 1)
    try:
        assert not reference.contains(p, q)
        assert reference.covers(parse("/a/e"), q)
        assert not reference.overlaps(q, other)
    finally:
        possible_patterns.cache_clear()


def test_queries_at_the_limit_of_length_are_related() -> None:
    longest, longer = parse("/a" * 510), parse("/a" * 511)
    nested = parse("/a[" + "/".join("a" * 509) + "]")
    assert contains(longest, longer)
    assert not contains(longer, longest)
    assert contains(nested, longest)
    assert contains(longest, nested)
    recursive = SchemaGraph.from_dtd("<!ELEMENT a (a?)>", roots=["a"])
    assert not contains(longer, longest, recursive)
    assert overlaps(nested, longer, recursive)
    assert why_never(nested, recursive) is None


def test_an_exponential_case_terminates() -> None:
    many_ways = parse("//a" + "//*/a" * 60)
    assert not contains(many_ways, parse("//*" + "//a/*" * 60 + "//b"))
