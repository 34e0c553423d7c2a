"""The examples of the paper (KEMB, by Li, Feng, Wang and Zhou), on every engine.

The figures are not in the text that we have; Fig. 1 is rebuilt from what the examples say of it:

* `a1` is the root, since it is an ancestor of all others that are named; `b1` and `d1` come first
  (Example 1), and `d1` has `e` and `f` (`CK(d1)` is `{d, e, f}`).
* `b2` is a child of `a1` (Example 2), and `a2` its child (section 4.2).
* `a2` has `c1` and `d2` (`CK(a2)` is `{a, c, d}`), in the order of their path return.
* `c2` is a child of `a1`: the path return of `{a, c, d}` has nothing between them; it is last.

Inferred, not stated: `e` and `f` are elements without content, and children of `d1`.
"""

from __future__ import annotations

import pytest

from penstock import KeywordIndex
from penstock.documents import read_events
from penstock.lab.keyword_baselines import answer_elements
from penstock.matching.reference.keyword_semantics import contained, slca_answers
from penstock.matching.reference.keyword_tree import keyword_tree
from support.contracts.keyword_engines import keyword_engine_params, keyword_matcher
from support.contracts.native_engines import needs_native

FIGURE_1 = b"<a><b/><d><e/><f/></d><b><a><c/><d/></a></b><c/></a>"
A1, B1, D1, E1, F1, B2, A2, C1, D2, C2 = range(10)

TABLE_1 = {"Q1": "a b c", "Q2": "a b d", "Q3": "a d", "Q4": "e f"}


@pytest.fixture(params=keyword_engine_params)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_definition_of_clca(engine_name: str) -> None:
    """Section 3.2: `{a, c, d}` has the answers `a1` and `a2`, each with a path return."""
    matcher = keyword_matcher(engine_name, {"it": "a c d"})
    assert answer_elements(matcher, FIGURE_1) == {"it": (A1, A2)}
    returned = [each.to_xml() for each in matcher.match(FIGURE_1, fragments=True).fragments["it"]]
    assert returned == ["<a><c/><d/></a>", "<a><d></d><c/></a>"]


def test_slca_loses_the_outer_answer() -> None:
    """Section 3.2: `a1` is a false negative of SLCA, since it has `a2` below it."""
    elements = keyword_tree(read_events(FIGURE_1))
    assert [each.number for each in slca_answers(frozenset("acd"), elements)] == [A2]


@needs_native
def test_the_slca_engine_loses_it_too() -> None:
    index = KeywordIndex(engine="slca")
    index.add_many(["all", "any"], ["a c d", "a OR c OR d"])
    matcher = index.matcher()
    assert answer_elements(matcher, FIGURE_1) == {"all": (A2,)}
    assert matcher.match(FIGURE_1).ids == ("all",)


def test_the_keywords_that_elements_contain() -> None:
    """Section 4.3: `CK(d1)` and `CK(a2)`."""
    ck = contained(frozenset("abcdef"), elements := keyword_tree(read_events(FIGURE_1)))
    assert ck[elements[D1]] == set("def")
    assert ck[elements[A2]] == set("acd")


def test_kale(engine_name: str) -> None:
    """Example 1 and Fig. 3: two results for `{a, c, d}`, the inner one first in time."""
    answers = keyword_matcher(engine_name, {"it": "a c d"}).answers(FIGURE_1)["it"]
    assert [each.element for each in answers] == [A2, A1]
    held = [{each.keyword: [w.path for w in each.first] for each in a.witnesses} for a in answers]
    assert held == [
        {"a": ["/a[1]/b[2]/a[1]"], "c": ["/a[1]/b[2]/a[1]/c[1]"], "d": ["/a[1]/b[2]/a[1]/d[1]"]},
        {"a": ["/a[1]"], "c": ["/a[1]/c[1]"], "d": ["/a[1]/d[1]"]},
    ]


def test_table_1(engine_name: str) -> None:
    """Examples 2 to 4, Figs. 5 and 9: the queries of Table 1 together."""
    assert answer_elements(keyword_matcher(engine_name, TABLE_1), FIGURE_1) == {
        "Q1": (A1, B2),
        "Q2": (A1, B2),
        "Q3": (A1, A2),
        "Q4": (D1,),
    }


def test_or_finds_more_compact_trees(engine_name: str) -> None:
    """Section 3.2: with `b3` and `c3` below `e`, `e` answers the disjunction of `a`, `b`, `c` and
    `d`."""
    document = FIGURE_1.replace(b"<e/>", b"<e><b/><c/></e>")
    assert answer_elements(keyword_matcher(engine_name, {"it": "a OR b OR c OR d"}), document) == {
        "it": (A1, E1, B2 + 2)
    }


def test_kale_as_printed_reports_too_much(engine_name: str) -> None:
    """The printed algorithm reports `e`: what `c` holds must not go up, answered or not."""
    document = b"<e><c><d>a b</d>a</c>b</e>"
    assert answer_elements(keyword_matcher(engine_name, {"it": "a b"}), document) == {"it": (2,)}


def test_discarding_as_printed_reports_too_much(engine_name: str) -> None:
    """The printed rule discards keyword sets too, and makes `p` an answer of `{a, b}`."""
    document = b"<p><e>a b</e>b</p>"
    matcher = keyword_matcher(engine_name, {"ab": "a b", "ac": "a c"})
    assert answer_elements(matcher, document) == {"ab": (1,)}
