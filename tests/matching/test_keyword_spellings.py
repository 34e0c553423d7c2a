"""Spellings of a word that are the same word: apostrophes, abbreviations, parts of names."""

from __future__ import annotations

import pytest

from support.contracts.keyword_engines import keyword_engine_params, keyword_matcher


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
        ("<a>été</a>", "ete"),
    ],
)
def test_these_are_not_the_same(engine_name: str, document: str, query: str) -> None:
    assert not keyword_matcher(engine_name, {"it": query}).match(document.encode())
