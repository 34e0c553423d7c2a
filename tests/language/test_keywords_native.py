"""The native core tokenizes and parses keyword queries as the reference does."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock import QueryError, TokenizerOptions
from penstock.language.keywords.query import KeywordQuery, parse_keywords, parse_reference, words
from penstock.language.keywords.reference import tokenizer as reference_words
from penstock.language.keywords.tokenizer_options import (
    DEFAULT_TOKENIZER,
    TOKENIZER_BEFORE_OPTIONS,
)
from penstock.language.limits import WORD_BYTES_MAX
from support.contracts.native_engines import needs_native
from support.strategies.keywords import tokenizer_options

pytestmark = needs_native

NASTY = (
    *"aBz019_.,:;'\"-ßİıſΣςﬁǅŉẞÅÅ\u0345·‧’．\u202f",
    *"éØłÆþиЙёΐᾳ\u0306\u0308\u0327\u0363\u036f\u1dc4\u20d7\u0483\u05b8\u064b\u093c\u3099がガ‘＇",
    *("\u200d", "\u0301", "\u00ad", "\u2060", "\ufeff", "\u200b", "\ufe0f", "\U0001f3fb"),
    *("א", "ב", "ア", "ー", "漢", "ก", "क", "्", "ि", "한", "ᄀ", "ᅡ", "٠", "१"),
    *("\U0001f469", "❤", "ℹ", "Ⓜ", "\U0001f1ec", "\U0001f1e7", "\U0001f600"),
    *(" ", "\t", "\r", "\n", "\x0b", "\x1f", "\x85", "\u00a0", "\u2028", "\u3000", "\x00"),
)
"""Every class of characters in the rules of UAX #29, and those with unusual case folding."""

JOINED_AFTER_A_MARK = regex.compile(
    r"[\p{WB=MidLetter}\p{WB=MidNum}\p{WB=MidNumLet}'\"][\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"
    r"\u200d\p{Extended_Pictographic}"
)
"""The one case in which unicode-segmentation 1.13 departs from UAX #29: see decision 0011."""

nasty = st.lists(st.sampled_from(NASTY), max_size=12).map("".join)
any_text = st.text(st.characters(exclude_categories=("Cs", "Cn", "Co")), max_size=12)
texts = (nasty | any_text).filter(lambda text: not JOINED_AFTER_A_MARK.search(text))


def assert_same_words(text: str, options: TokenizerOptions) -> None:
    assert words(text, options) == tuple(reference_words.words(text, options)), ascii(text)


@given(texts, tokenizer_options)
def test_words(text: str, options: TokenizerOptions) -> None:
    assert_same_words(text, options)


@given(st.text(st.characters(max_codepoint=0x7F), max_size=40), tokenizer_options)
def test_words_of_ascii(text: str, options: TokenizerOptions) -> None:
    assert_same_words(text, options)


@given(st.text(st.characters(max_codepoint=0x52F), max_size=80), tokenizer_options)
def test_words_of_letters_with_marks(text: str, options: TokenizerOptions) -> None:
    assert_same_words(text, options)


def test_words_of_every_character() -> None:
    """Each character of Python's tables, next to a letter, a digit and a mark; few ideographs."""
    for code in range(0x110000):
        character = chr(code)
        category = unicodedata.category(character)
        if category not in ("Cs", "Cn", "Co") and (category != "Lo" or code % 64 == 0):
            text = f"a{character}b {character}1 a.{character}c"
            for options in (TokenizerOptions(), TOKENIZER_BEFORE_OPTIONS):
                assert_same_words(text, options)


@given(
    st.sampled_from(
        ("x", "ß", "é", "ø", "İ", "ſ", "\u0301", "x\u0301", "x\u0334", "1,", "x.", "x’")
    ),
    st.integers(WORD_BYTES_MAX // 4 - 2, WORD_BYTES_MAX + 2),
    st.integers(0, 4),
    tokenizer_options,
)
def test_the_longest_words(part: str, length: int, more: int, options: TokenizerOptions) -> None:
    assert_same_words(f"{part * length}{'x' * more} end", options)


UNSUPPORTED = ("a NOT b", "a -b", "tid*", '-"a b"', 'a "b', '"a""b c"')


def parsed(
    text: str, options: TokenizerOptions = DEFAULT_TOKENIZER
) -> KeywordQuery | tuple[str, str, object]:
    try:
        return parse_keywords(text, options)
    except QueryError as refused:
        return refused.code, refused.message, refused.where


def parsed_plainly(
    text: str, options: TokenizerOptions = DEFAULT_TOKENIZER
) -> KeywordQuery | tuple[str, str, object]:
    try:
        return parse_reference(text, options)
    except QueryError as refused:
        return refused.code, refused.message, refused.where


some_words = st.sampled_from(
    (
        *("storm", "Gale", "OR", "OR", "AND", "or", "--", "a-b", "é", "x" * 300, "\n"),
        *("NOT", "-a", '"', '"a', 'b"', '"c"', "\u201cd", "e\u201d", "f*", "(g", '-"h', '"AND"'),
        *('""', '"', '"漢字', '字"!', 'a"b', "x " * 40, '"(-i', "É.ø", "e", "a\u2019b"),
    )
)


@given(texts | st.lists(some_words, max_size=6).map(" ".join), tokenizer_options)
def test_queries(text: str, options: TokenizerOptions) -> None:
    assert parsed(text, options) == parsed_plainly(text, options)


@given(texts.filter(lambda text: set(text).isdisjoint("\u0345\u24c2")), tokenizer_options)
def test_the_canonical_text_parses_to_the_same_query(text: str, options: TokenizerOptions) -> None:
    """But for an accent that folds to a letter (U+0345), a pictograph that folds to none (U+24C2).

    After a mark or a joiner, their folded word is cut once more.
    """
    query = parsed(text, options)
    assume(isinstance(query, KeywordQuery))
    assert parsed(str(query), options) == query


def test_the_known_deviation_from_the_standard() -> None:
    """A mark between a letter and a joined pictograph belongs to no word, but the core adds it."""
    text = "b.\u200d\U0001f469"
    assert reference_words.words(text, DEFAULT_TOKENIZER) == ["b"]
    assert words(text) == (text,)


@pytest.mark.parametrize(
    "text", ["", "storm OR", "a AND", "a b OR c", "a OR b AND c", "x" * 257, *UNSUPPORTED]
)
def test_refusals_have_the_same_messages(text: str) -> None:
    assert parsed(text) == parsed_plainly(text)
