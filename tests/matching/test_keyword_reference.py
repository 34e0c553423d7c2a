"""The reference definition of keyword answers has the properties stated in the design."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given

from penstock import KeywordIndex
from penstock.documents import read_events
from penstock.lab.keyword_baselines import answer_elements
from penstock.language import parse_keywords
from penstock.language.keywords.query import KeywordQuery, Mode
from penstock.matching.limits import KEYWORD_WITNESSES_MAX
from penstock.matching.reference import keyword_semantics
from penstock.matching.reference.keyword_semantics import (
    and_answers,
    contained,
    or_answers,
    slca_answers,
)
from penstock.matching.reference.keyword_tree import Element, keyword_tree
from support.contracts.keyword_engines import keyword_engine_params, keyword_matcher
from support.strategies.keywords import keyword_cases, nested_documents

KEYWORDS = frozenset("abc")


def tree(document: bytes) -> list[Element]:
    return keyword_tree(read_events(document))


@given(nested_documents)
def test_an_answer_owns_a_content_node_of_each_keyword(document: bytes) -> None:
    """The inverse definition: each content node belongs to its lowest owner."""
    elements = tree(document)
    ck = contained(KEYWORDS, elements)
    owned: dict[Element, list[Element]] = defaultdict(list)
    for element in elements:
        if any(map(element.contains, KEYWORDS)):
            for above in element.ancestors_or_self():
                if ck[above] == KEYWORDS:
                    owned[above].append(element)
                    break
    expected = {
        owner: content
        for owner, content in owned.items()
        if all(any(each.contains(word) for each in content) for word in KEYWORDS)
    }
    assert and_answers(KEYWORDS, elements) == expected


@given(nested_documents)
def test_every_and_answer_is_an_or_answer(document: bytes) -> None:
    elements = tree(document)
    assert set(and_answers(KEYWORDS, elements)) <= set(or_answers(KEYWORDS, elements))


@given(nested_documents)
def test_every_slca_is_a_clca(document: bytes) -> None:
    elements = tree(document)
    assert set(slca_answers(KEYWORDS, elements)) <= set(and_answers(KEYWORDS, elements))


@given(nested_documents)
def test_an_answer_exists_exactly_if_all_keywords_occur(document: bytes) -> None:
    elements = tree(document)
    there = contained(KEYWORDS, elements)[elements[0]]
    assert bool(and_answers(KEYWORDS, elements)) == (there == KEYWORDS)
    assert bool(or_answers(KEYWORDS, elements)) == bool(there)


@given(nested_documents)
def test_answers_share_no_content_node(document: bytes) -> None:
    elements = tree(document)
    for answers in (and_answers(KEYWORDS, elements), or_answers(KEYWORDS, elements)):
        content = [each for owned in answers.values() for each in owned]
        assert len(content) == len(set(content))


@given(nested_documents)
def test_with_one_keyword_every_content_node_answers(document: bytes) -> None:
    elements = tree(document)
    content = {each for each in elements if each.contains("a")}
    for mode in Mode:
        assert set(keyword_semantics.answers(KeywordQuery(("a",), mode), elements)) == content


@given(keyword_cases)
def test_a_path_return_answers_for_itself(case: tuple[bytes, list[str]]) -> None:
    document, queries = case
    index = KeywordIndex(engine="reference")
    index.add_many(map(str, range(len(queries))), queries)
    matcher = index.matcher()
    for name, answers in matcher.answers(document).items():
        for answer in answers:
            assert answer.fragment is not None
            if answer.fragment.from_entity:
                continue  # then it may hold more than the answer does
            alone = answer.fragment.to_xml().encode()
            (root, *others) = answer_elements(matcher, alone)[name]
            assert root == 0
            (again,) = (each for each in matcher.answers(alone, [name])[name] if not each.element)
            assert (again.size, again.keywords) == (answer.size, answer.keywords)
            if parse_keywords(index.query(name)).mode is Mode.ALL:
                assert others == []


@pytest.mark.parametrize(
    ("document", "query", "expected"),
    [
        (b"<p>storm</p>", "storm", {0: [0]}),
        (b"<storm/>", "storm", {0: [0]}),
        (b"<p storm='1'/>", "storm", {0: [0]}),
        (b"<p k='the storm'/>", "storm", {0: [0]}),
        (b"<p xmlns:storm='urn:storm' xmlns='urn:gale'/>", "storm OR gale OR urn", {}),
        (b"<storm:p xmlns:storm='urn:x' storm:k='1'/>", "storm", {}),
        (b"<p><!-- storm --><?storm storm?></p>", "storm", {}),
        (b"<p>st<b/>orm</p>", "storm", {}),
        (b"<p>st<!-- -->orm</p>", "storm", {}),
        (b"<p>st<?cut?>orm</p>", "storm", {}),
        (b"<p>st<![CDATA[or]]>&#109;</p>", "storm", {0: [0]}),
        (b"<!DOCTYPE p [<!ENTITY e 'tor'>]><p>s&e;m</p>", "storm", {0: [0]}),
        (b"<!DOCTYPE p [<!ATTLIST p k CDATA 'storm'>]><p/>", "storm", {0: [0]}),
        (b"<p>storm</p>", "STORM Storm", {0: [0]}),
        (b"<p><a>x</a><b>y</b></p>", "x y", {0: [1, 2]}),
        (b"<p><a>x y</a><b>y</b></p>", "x y", {1: [1]}),
        (b"<p>x<a>x y</a><b>y</b></p>", "x y", {0: [0, 2], 1: [1]}),
        # What contains all passes nothing upwards, even where it is no answer itself.
        (b"<p>y<q>x<a>x y</a></q></p>", "x y", {2: [2]}),
        # An element released keeps what is directly in it with the answer.
        (b"<p>x y z<q>x<a>y</a></q></p>", "x OR y OR z", {0: [0, 1], 2: [2]}),
        (b"<p>x<q><a>y</a></q></p>", "x OR y", {0: [0, 2]}),
        (b"<p><q>x</q><q>x y</q></p>", "x OR y", {1: [1], 2: [2]}),
        (b"<p><q>x</q><r>x</r></p>", "x OR y", {1: [1], 2: [2]}),
        # The first is released, since the second still has the keyword; that is claimed then.
        (b"<p>x<q><a>y</a></q><r><b>y</b></r></p>", "x OR y", {0: [0, 4], 2: [2]}),
    ],
)
def test_distinguishing_cases(document: bytes, query: str, expected: dict[int, list[int]]) -> None:
    found = keyword_semantics.answers(parse_keywords(query), tree(document))
    assert {
        answer.number: [each.number for each in content] for answer, content in found.items()
    } == expected


@pytest.mark.parametrize("engine_name", keyword_engine_params)
def test_more_witnesses_than_are_listed_are_counted(engine_name: str) -> None:
    many = KEYWORD_WITNESSES_MAX + 3
    document = b"<r><x/>%s<p>storm</p></r>" % (b"<q>gale</q>" * many)
    (answer,) = keyword_matcher(engine_name, {"it": "gale storm"}).answers(document)["it"]
    assert answer.truncated
    gale, storm = answer.witnesses
    assert (gale.count, len(gale.first)) == (many, KEYWORD_WITNESSES_MAX)
    assert (storm.count, len(storm.first)) == (1, 1)
    assert answer.size == 1 + KEYWORD_WITNESSES_MAX + 1
    assert answer.fragment is not None
    assert answer.fragment.to_xml() == (
        f"<r>{'<q>gale</q>' * KEYWORD_WITNESSES_MAX}<p>storm</p></r>"
    )
    assert f"and {many - KEYWORD_WITNESSES_MAX} more" in str(answer)
