"""Every engine answers keyword queries as the reference does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import DocumentError, KeywordIndex, KeywordMatcher, TokenizerOptions
from penstock.documents import read_events
from penstock.lab.keyword_baselines import answer_elements
from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER
from penstock.matching.reference.keyword_semantics import slca_answers
from penstock.matching.reference.keyword_tree import keyword_tree
from support.contracts.keyword_engines import (
    KEYWORD_ENGINES,
    NATIVE_KEYWORD_ENGINES,
    keyword_matcher,
)
from support.contracts.native_engines import needs_native
from support.strategies.documents import chunks_of, perhaps_broken
from support.strategies.keywords import keyword_cases, nested_documents, tokenizer_options

pytestmark = needs_native


def matchers(
    queries: Sequence[str], tokenizer: TokenizerOptions = DEFAULT_TOKENIZER
) -> tuple[KeywordMatcher, Mapping[str, KeywordMatcher]]:
    """The reference, and the native engines by name."""
    by_id = {str(number): query for number, query in enumerate(queries)}
    return keyword_matcher("reference", by_id, tokenizer), {
        engine_name: keyword_matcher(engine_name, by_id, tokenizer)
        for engine_name in NATIVE_KEYWORD_ENGINES
    }


@given(keyword_cases, tokenizer_options)
def test_matches_and_answers(case: tuple[bytes, list[str]], tokenizer: TokenizerOptions) -> None:
    document, queries = case
    reference, natives = matchers(queries, tokenizer)
    matches = reference.match(document, fragments=True)
    numbers = answer_elements(reference, document)
    assert set(matches) == set(numbers)
    for engine_name, native in natives.items():
        found = native.match(document, fragments=True)
        assert set(found) == set(matches), engine_name
        assert found.counters == matches.counters, engine_name
        assert found.fragments == matches.fragments, engine_name
        assert answer_elements(native, document) == numbers, engine_name


@given(keyword_cases, tokenizer_options)
def test_answers_in_full(case: tuple[bytes, list[str]], tokenizer: TokenizerOptions) -> None:
    """All native engines use the same code for detailed answers, so one suffices."""
    document, queries = case
    reference, natives = matchers(queries, tokenizer)
    native = natives["postings"]
    ids = [str(number) for number in range(len(queries))]
    for form in ("paths", "subtree", "ids"):
        for limit in (None, 1):
            expected = reference.answers(document, ids, form=form, limit=limit)
            assert native.answers(document, ids, form=form, limit=limit) == expected
    for id_ in ids:
        assert native.explain(document, id_) == reference.explain(document, id_)


@given(nested_documents)
def test_smallest_trees(document: bytes) -> None:
    index = KeywordIndex(engine="slca")
    index.add("it", "a b c")
    elements = keyword_tree(read_events(document))
    expected = tuple(each.number for each in slca_answers(frozenset("abc"), elements))
    assert answer_elements(index.matcher(), document).get("it", ()) == expected


@given(st.data(), keyword_cases, tokenizer_options)
def test_chunks(
    data: st.DataObject, case: tuple[bytes, list[str]], tokenizer: TokenizerOptions
) -> None:
    document, queries = case
    chunks = data.draw(chunks_of(document))
    reference, natives = matchers(queries, tokenizer)
    expected = set(reference.match(document))
    for engine_name, native in natives.items():
        assert set(native.match_chunks(chunks)) == expected, engine_name


@given(perhaps_broken)
def test_refusals(document: bytes) -> None:
    _, natives = matchers(["a", "a b", "en OR x", "10 x y"])
    expected: list[DocumentError] = []
    try:
        read_events(document)
    except DocumentError as reason:
        expected.append(reason)
    for native in natives.values():
        matches = native.match(document)
        assert [error.code for error in matches.errors] == [error.code for error in expected]
        for error in expected:
            assert matches.ids == ()
            with pytest.raises(DocumentError, match=error.code):
                answer_elements(native, document)


@given(st.lists(keyword_cases, min_size=2, max_size=3))
def test_one_matcher_over_many_documents(cases: list[tuple[bytes, list[str]]]) -> None:
    """State cached from one document must not affect the next."""
    reference, natives = matchers([query for _, queries in cases for query in queries])
    for document, _ in cases:
        expected = answer_elements(reference, document)
        for engine_name, native in natives.items():
            assert answer_elements(native, document) == expected, engine_name


@pytest.mark.parametrize("engine_name", KEYWORD_ENGINES)
def test_an_empty_cdata_section_does_not_split_a_word_of_a_path_return(engine_name: str) -> None:
    document = b"<e>sto<![CDATA[]]>rm</e>"
    matches = keyword_matcher(engine_name, {"it": "storm"}).match(document, fragments=True)
    assert [fragment.pieces for fragment in matches.fragments["it"]] == [(document,)]
