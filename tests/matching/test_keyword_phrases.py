"""Phrases: words next to each other in a name, an attribute's value or text between two tags."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import KeywordIndex
from penstock.language.limits import PHRASE_WORDS_MAX, WORD_BYTES_MAX
from support.contracts.keyword_engines import (
    keyword_engine_params,
    keyword_index,
    keyword_matcher,
)


@pytest.fixture(params=keyword_engine_params)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


ADJACENT = (
    "<a>A Storm Surge hit</a>",
    "<a>storm-surge</a>",
    "<a>storm (surge)</a>",
    "<a>storm\n  surge</a>",
    "<a>storm<![CDATA[ surge]]></a>",
    "<a>storm&#32;&#x73;urge</a>",
    "<a>storm<!-- not a word -->surge</a>",
    "<a>storm<?not words?>surge</a>",
    "<a><b/>storm surge<b/></a>",
    "<a b='the storm surge'/>",
    "<storm-surge/>",
    "<a storm-surge='1'/>",
)
"""Contain `"storm surge"`."""

APART = (
    "<a>surge storm</a>",
    "<a>storm big surge</a>",
    f"<a>storm {'x' * (WORD_BYTES_MAX + 1)} surge</a>",
    "<a>storm_surge stormsurge</a>",
    "<a>storm <b/>surge</a>",
    "<a>storm <b>surge</b></a>",
    "<a><b>storm</b> surge</a>",
    "<a><b>storm</b><c>surge</c></a>",
    "<storm>surge</storm>",
    "<a storm='surge'/>",
    "<a b='storm' c='surge'/>",
    "<a b='storm'>surge</a>",
)
"""Contain both words, or none, but not the phrase."""


@pytest.mark.parametrize("document", ADJACENT)
def test_adjacent_words_are_a_phrase(engine_name: str, document: str) -> None:
    matcher = keyword_matcher(engine_name, {"it": '"storm surge"', "words": "storm surge"})
    assert set(matcher.match(document.encode())) == {"it", "words"}


@pytest.mark.parametrize("document", APART)
def test_words_that_are_apart_are_no_phrase(engine_name: str, document: str) -> None:
    assert not keyword_matcher(engine_name, {"it": '"storm surge"'}).match(document.encode())


def test_phrases_combine_with_words_and_operators(engine_name: str) -> None:
    queries = {
        "both": '"storm surge" coast',
        "two": '"storm surge" AND "high tide"',
        "either": '"storm tide" OR "high tide"',
        "none": '"storm tide" OR "tide high"',
        "word": "storm",
        "inner": '"high storm surge" "storm surge" "surge at"',
    }
    matcher = keyword_matcher(engine_name, queries)
    document = b"<a><b>High storm surge at the coast</b><c>high tide</c></a>"
    assert set(matcher.match(document)) == {"both", "two", "either", "word", "inner"}


def test_an_answer_to_a_phrase_is_the_element_that_contains_it(engine_name: str) -> None:
    matcher = keyword_matcher(engine_name, {"it": '"storm surge" coast'})
    document = b"<n><i><t>storm</t>surge <p>storm surge</p><p>coast</p></i><i>coast</i></n>"
    (answer,) = matcher.answers(document)["it"]
    assert answer.place.path == "/n[1]/i[1]"
    assert answer.keywords == ("coast", "storm surge")
    places = {each.keyword: [str(place.path) for place in each.first] for each in answer.witnesses}
    assert places == {"storm surge": ["/n[1]/i[1]/p[1]"], "coast": ["/n[1]/i[1]/p[2]"]}


def test_an_explanation_names_the_phrase(engine_name: str) -> None:
    matcher = keyword_matcher(engine_name, {"it": 'coast "Storm surge"'})
    assert str(matcher.explain(b"<a>storm surge, coast</a>", "it")).splitlines() == [
        'it matched: coast "Storm surge"',
        '  /a[1] (line 1): coast in /a[1] (line 1); "storm surge" in /a[1] (line 1)',
    ]
    explanation = matcher.explain(b"<a>coast: surge, storm</a>", "it")
    assert explanation.lacking == ("storm surge",)
    assert str(explanation).splitlines()[1:] == ['  the document has no "storm surge"']


@pytest.mark.parametrize(
    ("phrase", "inside", "apart"),
    [
        ("東京都", "新東京都庁", "京都と東京"),
        ("ストーム 警報", "<![CDATA[ストーム]]>警報", "警報ストーム"),
        ("พายุ", "มีพายุแรง", "ยุพา"),
        ("кода шторма", "Кода «шторма»", "шторма кода"),
    ],
)
def test_text_without_spaces_is_found_by_phrases(
    engine_name: str, phrase: str, inside: str, apart: str
) -> None:
    matcher = keyword_matcher(engine_name, {"phrase": f'"{phrase}"', "words": phrase})
    assert set(matcher.match(f"<a>{inside}</a>".encode())) == {"phrase", "words"}
    assert set(matcher.match(f"<a>{apart}</a>".encode())) == {"words"}


def test_long_and_overlapping_phrases(engine_name: str) -> None:
    queries = {str(length): f'"{"a " * length}"' for length in range(2, PHRASE_WORDS_MAX + 1, 7)}
    matcher = keyword_matcher(engine_name, queries)
    for count in (1, 2, PHRASE_WORDS_MAX - 8, PHRASE_WORDS_MAX):
        expected = {name for name in queries if int(name) <= count}
        assert set(matcher.match(f"<a>{'a ' * count}</a>".encode())) == expected


def test_a_phrase_in_a_long_text(engine_name: str) -> None:
    """Longer than the buffers of the reader and of the tokenizer."""
    matcher = keyword_matcher(engine_name, {"it": '"storm surge"', "no": '"surge storm"'})
    for before in range(16_370, 16_390):
        text = f"{'x' * before} storm surge {'y ' * 40_000}"
        assert set(matcher.match(f"<a>{text}</a>".encode())) == {"it"}


def test_a_saved_index_has_its_phrases(engine_name: str, tmp_path: Path) -> None:
    queries = {"it": '"storm surge" coast', "other": '"surge storm" OR "coast storm surge"'}
    keyword_index(engine_name, queries).save(tmp_path / "index")
    loaded = KeywordIndex.load(tmp_path / "index")
    assert loaded.query("it") == queries["it"]
    assert set(loaded.matcher().match(b"<a>storm surge at the coast</a>")) == {"it"}
    loaded.add("more", '"the coast"')
    matcher = loaded.matcher()
    assert set(matcher.match(b"<a>the coast storm surge</a>")) == {"it", "other", "more"}


def test_removing_a_phrase_leaves_its_words_to_others(engine_name: str) -> None:
    index = keyword_index(engine_name, {"phrase": '"storm surge"', "word": "storm"})
    index.remove("phrase")
    assert set(index.matcher().match(b"<a>storm surge</a>")) == {"word"}
