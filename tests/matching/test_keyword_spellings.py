"""Spellings of a word that are the same word: diacritics, apostrophes, abbreviations, names."""

from __future__ import annotations

import hashlib
import itertools
import json
import pickle
from pathlib import Path
from typing import Final, cast

import pytest

from penstock import IndexFileError, KeywordIndex, QueryError, TokenizerOptions
from penstock.language import parse_keywords
from penstock.language.limits import WORD_BYTES_MAX
from penstock.matching.reference.index_file import KEYWORD_MAGIC
from support.contracts.keyword_engines import (
    keyword_engine_params,
    keyword_index,
    keyword_matcher,
)
from support.contracts.native_engines import needs_native


@pytest.fixture(params=keyword_engine_params)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("<a>Don\u2019t panic</a>", "don't"),
        ("<a>don't</a>", "DON\u2019T"),
        ("<a>made in the U.S.A.</a>", "usa"),
        ("<a b='USA'/>", "U.S.A."),
        ("<a>в I в. до н.э.</a>", "НЭ"),
        ("<eventCode/>", "event code"),
        ("<eventCode/>", "eventCode"),
        ("<eventCode/>", '"event code"'),
        ("<a event_code=''/>", '"event code"'),
        ("<a event_code=''/>", "event_code"),
        ("<XMLEvent2Code/>", '"xml event2 code"'),
        ("<n:летоПисьмо xmlns:n='urn:n'/>", "письмо лето"),
        ("<a>Zürich</a>", "zurich"),
        ("<a>ZURICH</a>", "zürich"),
        ("<a>Zu\u0308rich</a>", "Zürich"),
        ("<a b='Łódź'/>", "lodz"),
        ("<a>naïve-ish</a>", '"naive ish"'),
        ("<a>Smørrebrød</a>", "smorrebrod"),
        ("<a>Đà Nẵng</a>", '"da nang"'),
        ("<a>İstanbul, ISPARTA, ısparta</a>", '"istanbul isparta isparta"'),
        ("<a>Ærø, Þór, œuvre</a>", '"aero thor oeuvre"'),
        ("<a>Αθήνα</a>", "ΑΘΗΝΑ"),
        ("<a>ёлка</a>", "елка"),
        ("<a>É.U.</a>", "eu"),
        ("<a>\u1109.\u1165</a>", "서"),
        ("<étéÉté/>", '"ete ete"'),
    ],
)
def test_these_are_the_same(engine_name: str, document: str, query: str) -> None:
    assert keyword_matcher(engine_name, {"it": query}).match(document.encode())


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("<a>dont</a>", "don't"),
        ("<a>3.1</a>", "31"),
        ("<a>coast.example</a>", "coastexample"),
        ("<a>a.bc</a>", "abc"),
        ("<a>eventCode event_code</a>", "event"),
        ("<a b='eventCode'/>", "code"),
        ("<eventCode/>", '"eventCode event"'),
        ("<EVENT/>", "e"),
        ("<a>Zürich</a>", "zuerich"),
        ("<a>мой</a>", "мои"),
        ("<a>が</a>", "か"),
        ("<a>パリ</a>", "ハリ"),
        ("<a>서</a>", "\u1109"),
        ("<a>क\u093c</a>", "क"),
        ("<a>\u0628\u064e</a>", "\u0628"),
        ("<a>มั่น</a>", '"ม น"'),
        ("<a>\u0710\u0308</a>", "\u0710"),
        ("<a>ŋ</a>", "n"),
    ],
)
def test_these_are_not_the_same(engine_name: str, document: str, query: str) -> None:
    assert not keyword_matcher(engine_name, {"it": query}).match(document.encode())


SPELLINGS: Final = {
    "fold_diacritics": ("<a>Zürich</a>", "zurich", "zürich"),
    "split_names": ("<eventCode/>", "event code", "eventcode"),
    "unify_apostrophes": ("<a>don\u2019t</a>", "don't", "DON\u2019T"),
    "unify_abbreviations": ("<a>U.S.A.</a>", "usa", "u.s.a"),
}
"""A document, a query that finds it only with the option, and one that always finds it."""


@pytest.mark.parametrize("flags", list(itertools.product((True, False), repeat=len(SPELLINGS))))
def test_each_option_unifies_its_own_spellings(engine_name: str, flags: tuple[bool, ...]) -> None:
    tokenizer = TokenizerOptions(**dict(zip(SPELLINGS, flags, strict=True)))
    for (document, other, same), is_on in zip(SPELLINGS.values(), flags, strict=True):
        matcher = keyword_matcher(engine_name, {"other": other, "same": same}, tokenizer)
        assert set(matcher.match(document.encode())) == ({"other", "same"} if is_on else {"same"})
        assert bool(matcher.explain(document.encode(), "other").lacking) != is_on


def test_witnesses_are_places_in_the_original(engine_name: str) -> None:
    document = "<r><p>ﬁn</p><q>Łódź Đà</q></r>".encode()
    (answer,) = keyword_matcher(engine_name, {"it": '"lodz da"'}).answers(document)["it"]
    assert document[answer.place.span.start : answer.place.span.end] == "<q>Łódź Đà</q>".encode()
    assert answer.fragment is not None
    assert answer.fragment.to_xml() == "<q>Łódź Đà</q>"


def test_a_word_that_is_too_long_without_its_marks_is_no_word(engine_name: str) -> None:
    """Whether a word is too long does not depend on the options."""
    long = "a" + "\u0334" * (WORD_BYTES_MAX // 2)
    document = f"<p>b {long} c</p>".encode()
    for tokenizer in (TokenizerOptions(), TokenizerOptions(fold_diacritics=False)):
        queries = {"a": "a", "b": "b", "phrase": '"b c"', "both": "b c"}
        matcher = keyword_matcher(engine_name, queries, tokenizer)
        assert set(matcher.match(document)) == {"b", "both"}
        with pytest.raises(QueryError) as caught:
            parse_keywords(long, tokenizer)
        assert caught.value.code == "keywords.word-too-long"


@pytest.mark.parametrize("tokenizer", [TokenizerOptions(), TokenizerOptions(split_names=False)])
def test_options_are_stored_with_an_index(
    tmp_path: Path, engine_name: str, tokenizer: TokenizerOptions
) -> None:
    for queries in ({}, {"it": "event"}):
        index = keyword_index(engine_name, queries, tokenizer)
        index.save(tmp_path / "index")
        loaded = KeywordIndex.load(tmp_path / "index")
        copied: KeywordIndex = pickle.loads(pickle.dumps(index))
        for each in (index, loaded, copied):
            assert each.tokenizer == tokenizer
            each.add("later", "code OR event")
            each.matcher()
            each.add("last", "code")
            found = set(each.matcher().match(b"<eventCode/>"))
            expected = {*queries, "later", "last"} if tokenizer.split_names else set()
            assert found == expected


def test_a_file_of_the_reference_without_options_keeps_its_meaning(tmp_path: Path) -> None:
    body = b'{"id": "it", "query": "zurich"}\n{"id": "name", "query": "event"}\n'
    header = json.dumps({"version": 1, "sha256": hashlib.sha256(body).hexdigest()})
    (tmp_path / "index").write_bytes(KEYWORD_MAGIC + header.encode() + b"\n" + body)
    index = KeywordIndex.load(tmp_path / "index")
    assert index.tokenizer == TokenizerOptions(fold_diacritics=False)
    assert index.matcher().match("<eventCode>Zürich</eventCode>".encode()).ids == ("name",)


@needs_native
@pytest.mark.parametrize(
    ("at", "value", "code"), [(16, 7, "index.too-old"), (16, 9, "index.too-new")]
)
def test_a_native_file_of_another_format(tmp_path: Path, at: int, value: int, code: str) -> None:
    KeywordIndex(engine="postings").save(tmp_path / "index")
    content = bytearray((tmp_path / "index").read_bytes())
    content[at : at + 4] = value.to_bytes(4, "little")
    (tmp_path / "index").write_bytes(content)
    with pytest.raises(IndexFileError) as caught:
        KeywordIndex.load(tmp_path / "index")
    assert caught.value.code == code


@pytest.mark.parametrize("wrong", [1, None, "yes"])
def test_an_option_is_true_or_false(wrong: object) -> None:
    with pytest.raises(ValueError, match="fold_diacritics must be True or False"):
        TokenizerOptions(fold_diacritics=cast("bool", wrong))
