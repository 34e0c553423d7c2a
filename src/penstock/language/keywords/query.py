"""Keyword queries: ``storm warning coast`` requires all words, ``storm OR gale`` any of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Final

from penstock.errors import error
from penstock.language.keywords.reference import tokenizer as reference_words
from penstock.language.limits import (
    KEYWORD_QUERY_CHARACTERS_MAX,
    KEYWORDS_MAX,
    WORD_BYTES_MAX,
)
from penstock.language.source_position import position_of
from penstock.native import native

_OR: Final = "OR"
"""The operator between alternative words."""


class Mode(Enum):
    """How many words of the query an answer contains."""

    ALL = "all"
    """All words: AND."""
    ANY = "any"
    """At least one word, and as many as possible: OR."""


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """A keyword query; equal queries compare equal however they are written.

    >>> parse_keywords("Storm WARNING storm") == parse_keywords("warning storm")
    True
    """

    words: tuple[str, ...]
    """Case-folded, sorted, distinct, at least one."""
    mode: Mode
    """:attr:`Mode.ALL` for a single word."""

    def __str__(self) -> str:
        """The canonical text of the query."""
        return (" " if self.mode is Mode.ALL else f" {_OR} ").join(self.words)


def words(text: str) -> tuple[str, ...]:
    """Tokenizes a text, as documents and queries are tokenized.

    Words are the segments of UAX #29 that contain a letter or digit, within each run of text
    between white space; they are case-folded. Words longer than
    :data:`~penstock.language.limits.WORD_BYTES_MAX` bytes are skipped.

    >>> words("Don't panic: 3.14 STRASSEN, Straße, event_code, news-item")
    ("don't", 'panic', '3.14', 'strassen', 'strasse', 'event_code', 'news', 'item')
    """
    if native is not None:
        # The native core does not accept lone surrogates; the reference skips them, too.
        with suppress(UnicodeEncodeError):
            return tuple(native.words(text))
    return tuple(reference_words.words(text))


def parse_keywords(text: str) -> KeywordQuery:
    """Parses a keyword query.

    All words must occur. ``OR``, in capitals and between all words, requires any of them; the two
    forms cannot be mixed. Write the word `or` itself in lower case.

    Raises
    ------
    QueryError
        ``keywords.none``, ``keywords.mixed``, ``keywords.too-long``, ``keywords.word-too-long`` or
        ``keywords.too-many``; ``where`` is the position.

    Examples
    --------
    >>> str(parse_keywords("storm warning coast"))
    'coast storm warning'
    >>> str(parse_keywords("storm OR gale"))
    'gale OR storm'
    >>> from penstock.errors import QueryError
    >>> try:
    ...     parse_keywords("storm OR gale warning")
    ... except QueryError as refused:
    ...     print(refused)
    `OR` must join all words of a query or none at line 1, column 15 [keywords.mixed]
    """
    if native is not None:
        with suppress(UnicodeEncodeError):
            parsed, refusal = native.parse_keywords(text)
            if refusal is not None:
                code, message, offset = refusal
                raise error(code, message, position_of(text, offset))
            assert parsed is not None, "neither a query nor a refusal"
            return KeywordQuery(tuple(parsed[0]), Mode(parsed[1]))
    return parse_reference(text)


def parse_reference(text: str) -> KeywordQuery:
    """:func:`parse_keywords` without the native core."""
    if len(text) > KEYWORD_QUERY_CHARACTERS_MAX:
        message = f"more than {KEYWORD_QUERY_CHARACTERS_MAX} characters"
        raise error("keywords.too-long", message, position_of(text, KEYWORD_QUERY_CHARACTERS_MAX))
    found: list[str] = []
    any_will_do = False
    unjoined: int | None = None  # the first word without an `OR` before it
    open_or: int | None = None  # an `OR` without a word after it yet
    for run in reference_words.runs(text):
        if run[0] == _OR:
            if not found or open_or is not None:
                raise _misplaced_or(text, run.start())
            open_or, any_will_do = run.start(), True
            continue
        for word in reference_words.words_of_run(run[0]):
            if not reference_words.is_short(word):
                size = len(word.encode("utf-8", "surrogatepass"))
                raise error(
                    "keywords.word-too-long",
                    f"a word of {size} bytes exceeds the limit of {WORD_BYTES_MAX}",
                    position_of(text, run.start()),
                )
            if open_or is None and found and unjoined is None:
                unjoined = run.start()
            open_or = None
            found.append(word)
    if open_or is not None:
        raise _misplaced_or(text, open_or)
    if not found:
        raise error("keywords.none", "the query contains no word", position_of(text, 0))
    if any_will_do and unjoined is not None:
        message = "`OR` must join all words of a query or none"
        raise error("keywords.mixed", message, position_of(text, unjoined))
    distinct = tuple(sorted(set(found)))
    if len(distinct) > KEYWORDS_MAX:
        message = f"{len(distinct)} words exceed the limit of {KEYWORDS_MAX}"
        raise error("keywords.too-many", message, position_of(text, 0))
    return KeywordQuery(distinct, Mode.ANY if any_will_do and len(distinct) > 1 else Mode.ALL)


def _misplaced_or(text: str, offset: int) -> Exception:
    message = "`OR` must stand between two words (write `or` for the word itself)"
    return error("keywords.mixed", message, position_of(text, offset))
