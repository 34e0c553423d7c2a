"""Tokenizing texts and parsing keyword queries."""

from __future__ import annotations

import pickle

import pytest

from penstock import QueryError, TokenizerOptions
from penstock.language import parse_keywords
from penstock.language.keywords.query import KeywordQuery, Mode, words
from penstock.language.limits import KEYWORDS_MAX, PHRASE_WORDS_MAX, WORD_BYTES_MAX


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (" \t\r\n", ()),
        (".. -- !? _ 'x", ("x",)),
        ("Storm WARNING", ("storm", "warning")),
        ("news-item body.content event_code", ("news", "item", "body.content", "event_code")),
        ("can't 'quoted' rock'n'roll'", ("can't", "quoted", "rock'n'roll")),
        ("3.14 1,000 10:30 a:b v2.0 2a", ("3.14", "1,000", "10", "30", "a:b", "v2.0", "2a")),
        ("STRASSE Straße", ("strasse", "strasse")),
        ("ΣΊΣΥΦΟΣ Σίσυφος", ("σισυφοσ", "σισυφοσ")),
        ("e\u0301te\u0301 ÉTÉ", ("ete", "ete")),
        ("don\u2019t don\u2018t don't 5\u2019s", ("don't", "don't", "don't", "5", "s")),
        ("U.S.A. u.s usa É.É. н.э.", ("usa", "us", "usa", "ee", "нэ")),
        ("a.bc ab.c 1.2.3 a.1 www.a.b", ("a.bc", "ab.c", "1.2.3", "a", "1", "www.a.b")),
        ("日本語 カタカナ ไทย", ("日", "本", "語", "カタカナ", "ไ", "ท", "ย")),
        ('צה"ל', ('צה"ל',)),
        ("\U0001f600 \U0001f1ec\U0001f1e7", ()),
        ("a\u200bb a\u00adb a\u2060b a\u00a0b", ("a", "b", "a\u00adb", "a\u2060b", "a", "b")),
        ("a\x00b a\ufffeb", ("a", "b", "a", "b")),
    ],
)
def test_the_words_of_a_text(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


def test_the_words_of_a_text_without_unification() -> None:
    none = TokenizerOptions.of_flags((False, False, False, False))
    text = "e\u0301te\u0301 ÉTÉ Straße don\u2019t U.S.A."
    assert words(text, none) == ("été", "été", "strasse", "don\u2019t", "u.s.a")


def test_a_word_that_is_too_long_is_ignored() -> None:
    longest = "x" * WORD_BYTES_MAX
    assert words(f"a {longest} {longest}x b") == ("a", longest, "b")
    # The case-folded form counts: `ß` folds to two letters, and `İ` from two bytes to three.
    assert words("ß" * WORD_BYTES_MAX) == ()
    assert words("İ" * (WORD_BYTES_MAX // 2)) == ()


def test_lone_surrogates_are_not_words() -> None:
    assert words("a \udc80 b") == ("a", "b")
    assert parse_keywords("a \udc80").keywords == ("a",)


@pytest.mark.parametrize(
    ("text", "canonical", "mode"),
    [
        ("storm warning coast", "coast storm warning", Mode.ALL),
        ("  Coast\tSTORM, warning storm ", "coast storm warning", Mode.ALL),
        ("storm OR gale", "gale OR storm", Mode.ANY),
        ("storm OR Storm OR storm", "storm", Mode.ALL),
        ("storm or gale", "gale or storm", Mode.ALL),
        ("Or or oR", "or", Mode.ALL),
        ("ORs XOR", "ors xor", Mode.ALL),
        ("news-item", "item news", Mode.ALL),
        ("-- storm !", "storm", Mode.ALL),
        ("storm AND surge tide", "storm surge tide", Mode.ALL),
        ("storm and surge", "and storm surge", Mode.ALL),
        ("(storm OR gale)", "gale OR storm", Mode.ANY),
        ("storm (surge tide)", "storm surge tide", Mode.ALL),
        ('"Storm" AND \u201cgale\u201d', "gale storm", Mode.ALL),
        ('"OR" not', "not or", Mode.ALL),
        ('5" pipe', "5 pipe", Mode.ALL),
        ("storm\nOR\u2003gale", "gale OR storm", Mode.ANY),
        ('tide "Storm  surge"', '"storm surge" tide', Mode.ALL),
        ('("storm-surge") OR \u201cHigh tide!\u201d', '"high tide" OR "storm surge"', Mode.ANY),
        ('"storm surge" OR "Storm surge"', '"storm surge"', Mode.ALL),
        ('storm "storm surge"', 'storm "storm surge"', Mode.ALL),
        ('" storm\nNOT -surge "', '"storm not surge"', Mode.ALL),
        ('"東京都"', '"東 京 都"', Mode.ALL),
        ('"צה"ל 5"', '"צה"ל 5"', Mode.ALL),
        ('"" storm', "storm", Mode.ALL),
        ('o"\u093f', '""\u093f" o', Mode.ALL),
        ("o-\u093f", '"-\u093f" o', Mode.ALL),
    ],
)
def test_equivalent_spellings_are_the_same_query(text: str, canonical: str, mode: Mode) -> None:
    query = parse_keywords(text)
    assert str(query) == canonical
    assert query.mode is mode
    assert parse_keywords(canonical) == query
    assert pickle.loads(pickle.dumps(query)) == query


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("", "keywords.none", 1),
        (" .. -- !", "keywords.none", 1),
        ("\U0001f600", "keywords.none", 1),
        ("storm OR gale warning", "keywords.mixed", 15),
        ("é storm OR gale", "keywords.mixed", 3),
        ("storm OR gale-warning", "keywords.mixed", 10),
        ("OR", "keywords.mixed", 1),
        ("storm OR", "keywords.mixed", 7),
        ("storm OR OR gale", "keywords.mixed", 10),
        ("storm OR -- OR gale", "keywords.mixed", 13),
        ("AND storm", "keywords.mixed", 1),
        ("storm AND OR gale", "keywords.mixed", 11),
        ("storm OR gale AND surge", "keywords.mixed", 15),
        ("(storm OR gale) surge", "keywords.mixed", 17),
        ("storm NOT surge", "keywords.unsupported", 7),
        ("storm -surge", "keywords.unsupported", 7),
        ("é tid*", "keywords.unsupported", 6),
        ('-"storm surge"', "keywords.unsupported", 1),
        ('"storm surge""high tide"', "keywords.unsupported", 8),
        ('storm OR "high tide" coast', "keywords.mixed", 22),
        ('storm OR tide "high coast"', "keywords.mixed", 15),
        (f'é "{"a " * (PHRASE_WORDS_MAX + 1)}"', "keywords.too-many", 3),
        ("storm \u201csurge", "keywords.unsupported", 7),
        (f"é {'x' * (WORD_BYTES_MAX + 1)}", "keywords.word-too-long", 3),
        (" ".join(map(str, range(KEYWORDS_MAX + 1))), "keywords.too-many", 1),
    ],
)
def test_syntax_errors_have_positions(text: str, code: str, column: int) -> None:
    with pytest.raises(QueryError) as caught:
        parse_keywords(text)
    assert caught.value.code == code
    assert caught.value.where is not None
    assert caught.value.where.column == column


def test_positions_on_the_second_line() -> None:
    with pytest.raises(QueryError) as caught:
        parse_keywords("storm OR gale\n  coast")
    assert caught.value.where == (16, 2, 3)


def test_a_phrase_of_the_maximum_number_of_words_is_accepted() -> None:
    longest = "a " * PHRASE_WORDS_MAX
    assert parse_keywords(f'"{longest}"') == KeywordQuery((longest.strip(),), Mode.ALL)


def test_the_maximum_number_of_words_is_accepted() -> None:
    most = [f"w{number}" for number in range(KEYWORDS_MAX)]
    assert parse_keywords(" ".join([*most, *most])) == KeywordQuery(tuple(sorted(most)), Mode.ALL)
