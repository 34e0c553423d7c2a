"""Keyword queries: ``storm warning coast`` for all of the words, ``storm OR gale`` for any."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Final

from penstock.errors import error
from penstock.language.keywords.reference import tokenizer as reference_words
from penstock.language.limits import KEYWORDS_MAX, WORD_BYTES_MAX
from penstock.language.source_position import position_of
from penstock.native import native

_OR: Final = "OR"
"""Stands between words of which any will do."""


class Mode(Enum):
    """How many of a query's words an answer holds."""

    ALL = "all"
    """Every one: AND."""
    ANY = "any"
    """At least one, and as many as are to be had: OR."""


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """A query of words, equal however it was written.

    >>> parse_keywords("Storm WARNING storm") == parse_keywords("warning storm")
    True
    """

    words: tuple[str, ...]
    """Folded, ascending, each once, at least one."""
    mode: Mode
    """Of a single word, :attr:`Mode.ALL`."""

    def __str__(self) -> str:
        """The canonical text: the same for all ways to write the same query."""
        return (" " if self.mode is Mode.ALL else f" {_OR} ").join(self.words)


def words(text: str) -> tuple[str, ...]:
    """The words of a text in their order, as documents and queries are cut into them.

    Words are those of UAX #29 that hold a letter or digit, in each run of text between white space;
    folded, so that capitals do not matter. Words of more than
    :data:`~penstock.language.limits.WORD_BYTES_MAX` bytes are passed over.

    >>> words("Don't panic: 3.14 STRASSEN, Straße, event_code, news-item")
    ("don't", 'panic', '3.14', 'strassen', 'strasse', 'event_code', 'news', 'item')
    """
    if native is not None:
        # The core takes no lone surrogates; they are no words to the reference either.
        with suppress(UnicodeEncodeError):
            return tuple(native.words(text))
    return tuple(reference_words.words(text))


def parse_keywords(text: str) -> KeywordQuery:
    """The keyword query that a text says.

    Words beside each other must all be there. ``OR``, in capitals and between any two words, asks
    for any of them; the two cannot be mixed. The word `or` itself is written in small letters.

    Raises
    ------
    QueryError
        ``keywords.none``, ``keywords.mixed``, ``keywords.word-too-long`` or ``keywords.too-many``;
        ``where`` has the position.

    Examples
    --------
    >>> str(parse_keywords("storm warning coast"))
    'coast storm warning'
    >>> str(parse_keywords("storm OR gale"))
    'gale OR storm'
    >>> parse_keywords("storm OR gale warning")
    Traceback (most recent call last):
    ...
    penstock.errors.QueryError: words with `OR` and words without it in one query at line 1, \
column 15 [keywords.mixed]
    """
    if native is not None:
        with suppress(UnicodeEncodeError):
            parsed, refusal = native.parse_keywords(text)
            if refusal is not None:
                code, message, offset = refusal
                raise error(code, message, position_of(text, offset))
            assert parsed is not None, "neither a query nor a refusal"
            return KeywordQuery(tuple(parsed[0]), Mode(parsed[1]))
    return parse_plainly(text)


def parse_plainly(text: str) -> KeywordQuery:
    """:func:`parse_keywords` without the native core."""
    found: list[str] = []
    any_will_do = False
    unjoined: int | None = None  # the first word that should have had an `OR` before it
    open_or: int | None = None  # an `OR` that waits for the word after it
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
                    f"a word of {size} bytes, and {WORD_BYTES_MAX} are the most",
                    position_of(text, run.start()),
                )
            if open_or is None and found and unjoined is None:
                unjoined = run.start()
            open_or = None
            found.append(word)
    if open_or is not None:
        raise _misplaced_or(text, open_or)
    if not found:
        raise error("keywords.none", "there is no word in it", position_of(text, 0))
    if any_will_do and unjoined is not None:
        message = "words with `OR` and words without it in one query"
        raise error("keywords.mixed", message, position_of(text, unjoined))
    distinct = tuple(sorted(set(found)))
    if len(distinct) > KEYWORDS_MAX:
        message = f"{len(distinct)} words, and {KEYWORDS_MAX} are the most"
        raise error("keywords.too-many", message, position_of(text, 0))
    return KeywordQuery(distinct, Mode.ANY if any_will_do and len(distinct) > 1 else Mode.ALL)


def _misplaced_or(text: str, offset: int) -> Exception:
    message = "`OR` stands between two words (the word itself is written `or`)"
    return error("keywords.mixed", message, position_of(text, offset))
