"""The limits of keyword subscriptions are the same in Python and Rust, and enforced."""

from __future__ import annotations

import itertools
import pickle

import pytest

from penstock import DocumentError
from penstock.documents import Limits
from penstock.lab.keyword_baselines import answer_elements
from penstock.language import limits as of_queries
from penstock.matching import KeywordIndex
from penstock.matching import limits as of_matching
from penstock.matching.limits import KEMB_WORDS_MAX, KEYWORD_TEXT_RANGES_MAX, KEYWORD_WINDOW_MAX
from penstock.native import native
from support.contracts.keyword_engines import NATIVE_KEYWORD_ENGINES, keyword_matcher
from support.contracts.native_engines import needs_native

pytestmark = needs_native


def test_the_native_core_has_the_same_limits() -> None:
    named = {**vars(of_queries), **vars(of_matching)}
    reported = dict(native.keyword_limits())
    assert reported == {name: named[name] for name in reported}
    keyword_limits = {
        name for name in named if name.startswith(("KEYWORD", "PHRASE", "WORD", "KEMB"))
    }
    assert keyword_limits == set(reported)


def test_or_answers_need_a_document_within_the_buffer_limit() -> None:
    large = b"<r>%s</r>" % (b"<a>x</a><a>y</a>" * (KEYWORD_WINDOW_MAX // 3))
    matcher = keyword_matcher("postings", {"any": "x OR y", "other": "z OR zz", "all": "x y"})
    # Matching needs no answers, and a query without any of its words in the document has none.
    assert set(matcher.match(large)) == {"any", "all"}
    assert [each.element for each in matcher.answers(large, ["all"], form="ids")["all"]] == [0]
    for ids in (["any"], ["all", "any"]):
        with pytest.raises(DocumentError) as caught:
            matcher.answers(large, ids)
        assert caught.value.code == "keywords.or-too-large"
    # With fragments, only the OR query lacks its fragments; other queries have theirs.
    matches = matcher.match(large, fragments=True)
    assert set(matches) == {"any", "all"}
    assert matches.errors == ()
    assert matches.without_fragments == {"any"}
    (fragment,) = matches.fragments["all"]
    assert set(matches.fragments) == {"all"}
    assert fragment.to_xml().startswith("<r><a>x</a><a>y</a>")
    assert pickle.loads(pickle.dumps(matches)).without_fragments == {"any"}
    only_any = keyword_matcher("postings", {"any": "x OR y"}).match(large, fragments=True)
    assert set(only_any) == only_any.without_fragments == {"any"}
    assert not only_any.fragments


def test_an_element_with_more_text_nodes_than_are_stored() -> None:
    document = b"<r>%s</r>" % (b"x<b/>" * (KEYWORD_TEXT_RANGES_MAX + 1))
    (answer,) = keyword_matcher("postings", {"it": "x"}).answers(document)["it"]
    assert answer.truncated
    assert answer.fragment is not None
    assert answer.fragment.to_xml().count("x") == KEYWORD_TEXT_RANGES_MAX


@pytest.mark.parametrize("engine_name", NATIVE_KEYWORD_ENGINES)
@pytest.mark.parametrize("more", [-1, 0, 1, 10])
def test_queries_with_many_words(engine_name: str, more: int) -> None:
    words = [f"w{number}" for number in range(KEMB_WORDS_MAX + more)]
    document = f"<r><a>{' '.join(words[1:])}</a><b>{words[0]} <c>{' '.join(words)}</c></b></r>"
    queries = {"all": " ".join(words), "any": " OR ".join(words), "two": "w0 w1"}
    expected = answer_elements(keyword_matcher("reference", queries), document.encode())
    assert answer_elements(keyword_matcher(engine_name, queries), document.encode()) == expected


def test_kemb_counters() -> None:
    """Table 1 on the document of Fig. 1."""
    document = b"<a><b/><d><e/><f/></d><b><a><c/><d/></a></b><c/></a>"
    queries = {"Q1": "a b c", "Q2": "a b d", "Q3": "a d", "Q4": "e f"}

    def counted(engine_name: str) -> dict[str, int]:
        matcher = keyword_matcher(engine_name, queries)
        assert sum(map(len, answer_elements(matcher, document).values())) == 2 + 2 + 2 + 1
        return matcher.engine_counters()

    kept, discarded = counted("kemb without discarding"), counted("kemb")
    # As in the paper: states 1 to 15 in its text and Fig. 4.
    assert kept["states"] == discarded["states"] == 15
    assert kept["discarded"] == 0
    assert discarded["discarded"] > 0
    assert counted("postings") == {}


MANY_ANSWERS = b"<r>%s<b>rare</b></r>" % (b"<a>x y z</a>" * 500)


@pytest.mark.parametrize("operator", [" ", " OR "])
def test_keywords_whose_answers_exceed_the_work_budget_get_the_whole_document(
    operator: str,
) -> None:
    words = [f"w{number}" for number in range(30)]
    pairs = [operator.join(pair) for pair in itertools.combinations(words, 2)]
    index = KeywordIndex()
    index.add_many(["rare", *pairs], ["rare", *pairs])
    element = f"<a>{' '.join(words)}</a>"
    document = f"<r>{element * 50}<b>rare</b></r>".encode()
    matches = index.matcher(limits=Limits(work=100)).match(document, fragments=True)
    assert matches.errors == ()
    assert set(matches.ids) == {"rare", *pairs}
    assert 0 < len(matches.without_fragments) < len(pairs)
    assert matches.without_fragments == set(matches.ids) - set(matches.fragments)
    assert [each.to_xml() for each in matches.fragments["rare"]] == ["<b>rare</b>"]
    unlimited = index.matcher(limits=Limits(work=100_000)).match(document, fragments=True)
    assert unlimited.without_fragments == frozenset()
    assert {name: len(parts) for name, parts in unlimited.fragments.items()} == {
        "rare": 1,
        **dict.fromkeys(pairs, 50),
    }


def test_answers_of_one_document_are_bounded_in_memory() -> None:
    index = KeywordIndex()
    queries = {f"{number}": f"x OR q{number}" for number in range(1_000)}
    index.add_many([*queries, "rare"], [*queries.values(), "rare"])
    document = b"<r>%s<b>rare</b></r>" % (b"<a>x</a>" * 2_000)
    matcher = index.matcher(limits=Limits(work=1_000_000))
    matches = matcher.match(document, fragments=True)
    assert len(matches) == 1_001
    assert 0 < len(matches.without_fragments) < 1_000
    assert {len(parts) for name, parts in matches.fragments.items() if name != "rare"} == {2_000}
    assert [each.to_xml() for each in matches.fragments["rare"]] == ["<b>rare</b>"]
    with pytest.raises(DocumentError) as caught:
        matcher.answers(document, list(queries))
    assert caught.value.code == "keywords.too-many-answers"
    assert len(matcher.answers(document, list(queries), limit=10)["7"]) == 10
