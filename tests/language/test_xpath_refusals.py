"""Invalid queries are refused with a code, the exact position and a hint."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from penstock.errors import QueryError, Where
from penstock.language import parse, to_text
from penstock.language.limits import (
    MAX_NESTING,
    MAX_PREDICATES,
    MAX_QUERY_CHARACTERS,
    MAX_STEPS,
)
from penstock.language.xpath.ast import Axis, Compare, Kind, NameTest, Op, Path, Query, Step
from penstock.language.xpath.reference import parser as reference

Parse = Callable[[str], Query]

# The position is that of the `^` in the second line.
REFUSED = {
    "query.empty": [("", "^"), ("  ", "^")],
    "query.syntax": [
        ("a b", "  ^"),
        ("a[", "  ^"),
        ("a[b", "   ^"),
        ("a[b]]", "    ^"),
        ("a['x]", "  ^"),
        ("a|", "  ^"),
        ("a[b|'x']", "    ^"),
        ("a/", "  ^"),
        ("a///b", "   ^"),
        ("a/*:", "    ^"),
        ("p: a", "  ^"),
        ("a/.5", "  ^"),
        ("a[1e5]", "   ^"),
        ("a[b = ]", "      ^"),
        ("a[not()]", "      ^"),
        ("a[position(b)]", "           ^"),
        ("é[b", "   ^"),
    ],
    "query.character": [("a[. = '\x00']", "       ^"), ("\ud800", "^"), ("a\uffff", " ^")],
    "query.prefix": [("/a/p:b", "   ^"), ("//@p:*", "   ^")],
    "query.axis": [
        ("a/..", "  ^"),
        ("parent::a", "^"),
        ("a/following-sibling::b", "  ^"),
        ("a/descendant-or-self::b", "  ^"),
        ("self::a", "^"),
        ("a/nonsense::b", "  ^"),
    ],
    "query.node-test": [
        ("node()", "^"),
        ("a/comment()", "  ^"),
        ("a/processing-instruction('x')", "  ^"),
        ("//.", "^"),
        ("a[.//.]", "   ^"),
        ("a/descendant-or-self::node()", "  ^"),
        ("a/@text()", "   ^"),
    ],
    "query.leaf": [("@a/b", "   ^"), ("a/text()//b", "          ^"), ("a[@b/@c]", "     ^")],
    "query.document-node": [("/", "^"), (".", "^"), ("a | /", "    ^"), ("/.", "^")],
    "query.not-nodes": [("a = 'x'", "^"), ("'x'", "^"), ("a or b", "^"), ("not(a)", "^")],
    "query.absolute": [("a[/b]", "  ^"), ("a[b and //c]", "        ^")],
    "query.filter": [
        ("(a | b)[1]", "       ^"),
        ("(a)/b", "   ^"),
        ("a/.[b]", "   ^"),
        ("a/self::node()[b]", "              ^"),
        ("a[not(b)[1]]", "        ^"),
    ],
    "query.positional-descendant": [
        ("descendant::a[1]", "^"),
        ("a/descendant::b[not(last() > 1 or c)]", "  ^"),
    ],
    "query.function": [
        ("a[true()]", "  ^"),
        ("a[contains(b)]", "  ^"),
        ("a[lower-case() = 'x']", "  ^"),
        ("a[b and matches(c, 'd', 'i', 'x')]", "        ^"),
        ("a[translate(b, 'x') = 'y']", "  ^"),
        ("a[count(b, c) = 1]", "  ^"),
        ("a[count(b | c) = 1]", "        ^"),
        ("a[count('x') = 1]", "        ^"),
        ("a[count(lower-case(b)) = 1]", "        ^"),
        ("a[string-length('x') = 1]", "                ^"),
        ("a[lower-case(count(b)) = 'x']", "             ^"),
        ("a[translate(b, c, 'x') = 'y']", "               ^"),
        ("a[translate(b, 'x', 1) = 'y']", "                    ^"),
        ("a[xs:time(b) = 'x']", "  ^"),
        ("a[q:date(b) = 'x']", "  ^"),
        ("a/id('x')", "  ^"),
        ("a[p:f()]", "  ^"),
        ("a[contains('x', b)]", "           ^"),
        ("a[contains(b | c, 'x')]", "           ^"),
        ("a[starts-with(b, 3)]", "                 ^"),
    ],
    "query.pattern": [
        ("a[matches(b, 'c)')]", "               ^"),
        ("a[matches(b, '(c)\\1')]", "                 ^"),
        ("a[matches(b, 'é*+')]", "                ^"),
        ("a[matches(b, 'c', 'g')]", "                   ^"),
        ("a[matches(b, lower-case('C)'))]", "             ^"),
    ],
    "query.limit": [
        ("a[matches(b, '((c{99}){99})')]", "              ^"),
        ("a[matches(b, 'cd{99999}')]", "                ^"),
    ],
    "query.date": [
        ("a[xs:date(b) = xs:date('2018-02-30')]", "                       ^"),
        ("a[xs:dateTime('2018-01-01') = xs:dateTime(b)]", "              ^"),
    ],
    "query.variable": [("a[b = $x]", "      ^")],
    "query.arithmetic": [
        ("a[b + 1 = 2]", "    ^"),
        ("a[b * 2]", "    ^"),
        ("a[b -c]", "    ^"),
        ("a[-b]", "  ^"),
        ("a[1 div 2]", "    ^"),
        ("a[last() mod 2]", "         ^"),
    ],
    "query.comparison": [
        ("a[(b | c) = 'x']", "          ^"),
        ("a[(b | c) = d]", "          ^"),
        ("a[b = (c | d)]", "    ^"),
        ("a[count(b)]", "  ^"),
        ("a[string-length()]", "  ^"),
        ("a[count(b) = '1']", "           ^"),
        ("a[count(b) = count(c)]", "           ^"),
        ("a[1 < string-length(b) = c]", "                       ^"),
        ("a[lower-case(b) = c]", "                ^"),
        ("a[lower-case(b) = lower-case(c)]", "                ^"),
        ("a[xs:date(b)]", "  ^"),
        ("a[xs:date(b) = '2018-01-01']", "             ^"),
        ("a[xs:date(b) = xs:date(c)]", "             ^"),
        ("a[xs:date(b) = xs:dateTime('2018-01-01T00:00:00')]", "             ^"),
        ("a[(b or c) = 'x']", "           ^"),
        ("a['x' = not(b)]", "      ^"),
        ("a[b < 1 < 2]", "        ^"),
        ("a[position() = '1']", "             ^"),
        ("a[b = last()]", "    ^"),
    ],
    "query.constant": [
        ("a['x']", "  ^"),
        ("a[1 = 1]", "  ^"),
        ("a[b and 2]", "        ^"),
        ("a[position()]", "  ^"),
        ("a[not(last())]", "      ^"),
        ("a[last() = last()]", "  ^"),
    ],
}
CASES = [(code, *case) for code, cases in REFUSED.items() for case in cases]


@pytest.mark.parametrize("parse", [parse, reference.parse], ids=["parse", "reference"])
@pytest.mark.parametrize(("code", "text", "caret"), CASES)
def test_refused_with_code_and_exact_position(
    parse: Parse, code: str, text: str, caret: str
) -> None:
    with pytest.raises(QueryError) as refused:
        parse(text)
    offset = len(caret) - 1
    assert refused.value.code == code
    assert refused.value.where == Where(offset, 1, offset + 1)
    assert refused.value.hint


@pytest.mark.parametrize("parse", [parse, reference.parse], ids=["parse", "reference"])
@pytest.mark.parametrize(
    ("allowed", "refused", "offset"),
    [
        ("a" * MAX_QUERY_CHARACTERS, "a" * (MAX_QUERY_CHARACTERS + 1), MAX_QUERY_CHARACTERS),
        ("/a" * MAX_STEPS, "/a" * (MAX_STEPS + 1), 2 * MAX_STEPS + 1),
        ("a" + "[.]" * MAX_PREDICATES, "a" + "[.]" * (MAX_PREDICATES + 1), 3 * MAX_PREDICATES + 2),
        (
            "a[" * MAX_NESTING + "b" + "]" * MAX_NESTING,
            "a[" * (MAX_NESTING + 1) + "b" + "]" * (MAX_NESTING + 1),
            2 * MAX_NESTING + 1,
        ),
        (
            "(" * MAX_NESTING + "b" + ")" * MAX_NESTING,
            "(" * (MAX_NESTING + 1) + "b" + ")" * (MAX_NESTING + 1),
            MAX_NESTING,
        ),
    ],
    ids=["characters", "steps", "conditions", "predicates in each other", "parentheses"],
)
def test_limits_are_exact(parse: Parse, allowed: str, refused: str, offset: int) -> None:
    parse(allowed)
    with pytest.raises(QueryError) as error:
        parse(refused)
    assert error.value.code == "query.limit"
    assert error.value.where == Where(offset, 1, offset + 1)


def test_line_and_column_count_characters() -> None:
    with pytest.raises(QueryError) as refused:
        parse("/é\n | é$")
    assert refused.value.where == Where(7, 2, 5)


@pytest.mark.parametrize(
    ("namespaces", "default_namespace"),
    [
        ({"": "urn:x"}, None),
        ({"1": "urn:x"}, None),
        ({"p": ""}, None),
        ({"xmlns": "urn:x"}, None),
        ({"xml": "urn:x"}, None),
        ({"p": "http://www.w3.org/XML/1998/namespace"}, None),
        ({"p": "http://www.w3.org/2000/xmlns/"}, None),
        ({}, "http://www.w3.org/2000/xmlns/"),
    ],
)
def test_namespace_maps_that_xml_forbids(
    namespaces: dict[str, str], default_namespace: str | None
) -> None:
    with pytest.raises(QueryError) as refused:
        parse("a", namespaces=namespaces, default_namespace=default_namespace)
    assert refused.value.code == "query.namespaces"


def _selecting(test: NameTest, literal: str | float = 1.0) -> Query:
    compared = Compare(Path(), Op.EQ, literal)
    return Query((Path((Step(Axis.CHILD, Kind.ELEMENT, test, (compared,)),)),))


@pytest.mark.parametrize(
    "query",
    [
        Query((Path(),)),
        _selecting(NameTest("", None)),
        _selecting(NameTest("", "a"), "'\""),
        _selecting(NameTest("", "a"), float("nan")),
    ],
)
def test_trees_without_a_textual_form_are_refused(query: Query) -> None:
    with pytest.raises(QueryError) as refused:
        to_text(query)
    assert refused.value.code == "query.unprintable"


def test_a_refusal_can_be_pickled() -> None:
    with pytest.raises(QueryError) as refused:
        parse("a[")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (again.code, again.message, again.where) == (
        refused.value.code,
        refused.value.message,
        refused.value.where,
    )
