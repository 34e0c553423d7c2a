"""Keyword queries: ``storm AND coast`` requires all words, ``storm OR gale`` any of them."""

from __future__ import annotations

import string
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

_AND: Final = "AND"
"""The operator between words that must all occur, as do words without an operator."""
_OR: Final = "OR"
"""The operator between alternative words."""
_NOT: Final = "NOT"
"""Refused, so that nobody takes it for an operator that works."""
_QUOTES: Final = ('"', "\u201c", "\u201d")
"""Quotation marks, at the beginning or end of a run between white space, but for punctuation."""
_PUNCTUATION: Final = string.punctuation.replace('"', "")


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

    All words must occur; ``AND`` between them changes nothing. ``OR``, in capitals and between all
    words, requires any of them; the two forms cannot be mixed. Write the words `and` and `or`
    themselves in lower case. What search engines support and this does not is refused: ``NOT``, a
    word after ``-``, ``*`` and phrases in quotation marks.

    Raises
    ------
    QueryError
        ``keywords.none``, ``keywords.mixed``, ``keywords.unsupported``, ``keywords.too-long``,
        ``keywords.word-too-long`` or ``keywords.too-many``; ``where`` is the position.

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
    operator: tuple[int, str] | None = None  # an operator without a word after it yet
    quoted: tuple[int, int] | None = None  # an open quotation mark, and the words before it
    for run in reference_words.runs(text):
        at = run.start()
        _refuse_unsupported(run[0], text, at, is_quoted=quoted is not None)
        if quoted is None and run[0] in (_AND, _OR):
            if not found or operator is not None:
                raise _misplaced(run[0], text, at)
            operator, any_will_do = (at, run[0]), any_will_do or run[0] == _OR
            continue
        quotable = run[0].strip(_PUNCTUATION)
        opens_quote = quoted is None and quotable.startswith(_QUOTES)
        if opens_quote:
            quoted = (at, len(found))
        words_of_run = list(reference_words.words_of_run(run[0]))
        if run[0].startswith("-") and (quoted is None or opens_quote) and words_of_run:
            raise _unsupported("`-` is not supported: words cannot be excluded", text, at)
        for word in words_of_run:
            _refuse_long(word, text, at)
            if unjoined is None and found and (operator is None or operator[1] != _OR):
                unjoined = at if operator is None else operator[0]
            operator = None
            found.append(word)
        if quoted and quotable.endswith(_QUOTES) and not (opens_quote and len(quotable) == 1):
            start, before = quoted
            if len(found) > before + 1:
                message = "phrases are not supported: write the words without quotation marks"
                raise _unsupported(message, text, start)
            quoted = None
    if quoted is not None:
        raise _unsupported("the quotation mark is not closed", text, quoted[0])
    if operator is not None:
        raise _misplaced(operator[1], text, operator[0])
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


def _refuse_unsupported(run: str, text: str, offset: int, *, is_quoted: bool) -> None:
    if "*" in run:
        message = "`*` is not supported: words match exactly"
        raise _unsupported(message, text, offset + run.index("*"))
    if run == _NOT and not is_quoted:
        message = "`NOT` is not supported (write `not` for the word itself)"
        raise _unsupported(message, text, offset)


def _refuse_long(word: str, text: str, offset: int) -> None:
    if not reference_words.is_short(word):
        size = len(word.encode("utf-8", "surrogatepass"))
        message = f"a word of {size} bytes exceeds the limit of {WORD_BYTES_MAX}"
        raise error("keywords.word-too-long", message, position_of(text, offset))


def _misplaced(operator: str, text: str, offset: int) -> Exception:
    word = operator.lower()
    message = f"`{operator}` must stand between two words (write `{word}` for the word itself)"
    return error("keywords.mixed", message, position_of(text, offset))


def _unsupported(message: str, text: str, offset: int) -> Exception:
    return error("keywords.unsupported", message, position_of(text, offset))
