"""Keyword queries: ``storm AND coast`` requires all words, ``storm OR gale`` any of them.

``"storm surge"`` requires the words next to each other.
"""

from __future__ import annotations

import string
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from penstock.errors import error
from penstock.language.keywords.reference import tokenizer as reference_words
from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER, TokenizerOptions
from penstock.language.limits import (
    KEYWORD_QUERY_CHARACTERS_MAX,
    KEYWORDS_MAX,
    PHRASE_WORDS_MAX,
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
PHRASE_SEPARATOR: Final = " "
"""Separates the words of a phrase; no word contains it."""
_QUOTES: Final = ('"', "\u201c", "\u201d")
"""Quotation marks, at the beginning or end of a run between white space, but for punctuation.
Others are part of a word or punctuation."""
_PUNCTUATION: Final = string.punctuation.replace('"', "")


class Mode(Enum):
    """How many keywords of the query an answer contains."""

    ALL = "all"
    """All keywords: AND."""
    ANY = "any"
    """At least one keyword, and as many as possible: OR."""


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """A keyword query; equal queries compare equal however they are written.

    >>> parse_keywords("Storm WARNING storm") == parse_keywords("warning storm")
    True
    """

    keywords: tuple[str, ...]
    """Words in the common form of their spellings, and phrases with a space between their words:
    sorted, distinct, at least one."""
    mode: Mode
    """:attr:`Mode.ALL` for a single keyword."""

    def __str__(self) -> str:
        """The canonical text of the query."""
        return (" " if self.mode is Mode.ALL else f" {_OR} ").join(map(spelled, self.keywords))


def spelled(keyword: str) -> str:
    """A keyword as it is written in a query: a phrase in quotation marks.

    So is a word that begins with syntax, because an accent that is a letter extends any character.

    >>> spelled("storm"), spelled("storm surge")
    ('storm', '"storm surge"')
    """
    is_quoted = PHRASE_SEPARATOR in keyword or keyword.startswith((*_QUOTES, "-"))
    return f'"{keyword}"' if is_quoted else keyword


def words(text: str, options: TokenizerOptions = DEFAULT_TOKENIZER) -> tuple[str, ...]:
    """Tokenizes a text, as documents and queries are tokenized.

    Words are the segments of UAX #29 that contain a letter or digit, within each run of text
    between white space; they are case-folded, and their spellings are unified as the options say.
    Words longer than :data:`~penstock.language.limits.WORD_BYTES_MAX` bytes are skipped.

    >>> words("Don’t panic: 3.14 STRASSEN, Straße, U.S.A., event_code, news-item")
    ("don't", 'panic', '3.14', 'strassen', 'strasse', 'usa', 'event_code', 'news', 'item')
    """
    if native is not None:
        # The native core does not accept lone surrogates; the reference skips them, too.
        with suppress(UnicodeEncodeError):
            return tuple(native.words(text, options.flags()))
    return tuple(reference_words.words(text, options))


def parse_keywords(text: str, options: TokenizerOptions = DEFAULT_TOKENIZER) -> KeywordQuery:
    """Parses a keyword query.

    All words must occur; ``AND`` between them changes nothing. ``OR``, in capitals and between all
    words, requires any of them; the two forms cannot be mixed. Write the words `and` and `or`
    themselves in lower case. Words in quotation marks are a phrase: they must occur next to each
    other. What search engines support and this does not is refused: ``NOT``, a word after ``-``,
    and ``*``. ``options`` are those of the index.

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
    >>> str(parse_keywords('coast "Storm surge"'))
    'coast "storm surge"'
    >>> from penstock.errors import QueryError
    >>> try:
    ...     parse_keywords("storm OR gale warning")
    ... except QueryError as refused:
    ...     print(refused)
    `OR` must join all words of a query or none at line 1, column 15 [keywords.mixed]
    """
    if native is not None:
        with suppress(UnicodeEncodeError):
            parsed, refusal = native.parse_keywords(text, options.flags())
            if refusal is not None:
                code, message, offset = refusal
                raise error(code, message, position_of(text, offset))
            assert parsed is not None, "neither a query nor a refusal"
            return KeywordQuery(tuple(parsed[0]), Mode(parsed[1]))
    return parse_reference(text, options)


def parse_reference(text: str, options: TokenizerOptions = DEFAULT_TOKENIZER) -> KeywordQuery:
    """:func:`parse_keywords` without the native core."""
    if len(text) > KEYWORD_QUERY_CHARACTERS_MAX:
        message = f"more than {KEYWORD_QUERY_CHARACTERS_MAX} characters"
        raise error("keywords.too-long", message, position_of(text, KEYWORD_QUERY_CHARACTERS_MAX))
    builder = _QueryBuilder(text)
    quoted: tuple[int, list[str]] | None = None  # an open quotation mark, and the words since
    for run in reference_words.runs(text):
        at = run.start()
        _refuse_unsupported(run[0], text, at, is_quoted=quoted is not None)
        if quoted is None and run[0] in (_AND, _OR):
            builder.add_operator(run[0], at)
            continue
        opens, closes, content = _split_quotes(run[0], is_quoted=quoted is not None)
        words_of_run = list(reference_words.words_of_run(content, options))
        if run[0].startswith("-") and quoted is None and (opens or words_of_run):
            raise _unsupported("`-` is not supported: words cannot be excluded", text, at)
        if reference_words.GAP in words_of_run:
            message = f"a word has more than {WORD_BYTES_MAX} bytes"
            raise error("keywords.word-too-long", message, position_of(text, at))
        if opens:
            quoted = (at, [])
        if quoted is None:
            for word in words_of_run:
                builder.add_keyword(word, at)
            continue
        if _count_quotes(content) > sum(map(_count_quotes, words_of_run)):
            raise _unsupported("quotation marks must enclose whole words", text, at)
        start, phrase = quoted
        phrase += words_of_run
        if closes:
            quoted = None
            if len(phrase) > PHRASE_WORDS_MAX:
                message = f"a phrase of {len(phrase)} words exceeds the limit of {PHRASE_WORDS_MAX}"
                raise error("keywords.too-many", message, position_of(text, start))
            if phrase:
                builder.add_keyword(PHRASE_SEPARATOR.join(phrase), start)
    if quoted is not None:
        raise _unsupported("the quotation mark is not closed", text, quoted[0])
    return builder.query()


@dataclass(slots=True)
class _QueryBuilder:
    """Collects the keywords and operators of a query."""

    text: str
    keywords: list[str] = field(default_factory=list)
    is_any: bool = False
    unjoined: int | None = None
    """The first keyword without an ``OR`` before it, other than the very first."""
    operator: tuple[int, str] | None = None
    """An operator without a keyword after it yet."""

    def add_operator(self, operator: str, at: int) -> None:
        if not self.keywords or self.operator is not None:
            raise _misplaced(operator, self.text, at)
        self.operator = (at, operator)
        self.is_any = self.is_any or operator == _OR

    def add_keyword(self, keyword: str, at: int) -> None:
        if (
            self.unjoined is None
            and self.keywords
            and (self.operator is None or self.operator[1] != _OR)
        ):
            self.unjoined = at if self.operator is None else self.operator[0]
        self.operator = None
        self.keywords.append(keyword)

    def query(self) -> KeywordQuery:
        if self.operator is not None:
            raise _misplaced(self.operator[1], self.text, self.operator[0])
        if not self.keywords:
            raise error("keywords.none", "the query contains no word", position_of(self.text, 0))
        if self.is_any and self.unjoined is not None:
            message = "`OR` must join all words of a query or none"
            raise error("keywords.mixed", message, position_of(self.text, self.unjoined))
        distinct = tuple(sorted(set(self.keywords)))
        if len(distinct) > KEYWORDS_MAX:
            message = f"{len(distinct)} words exceed the limit of {KEYWORDS_MAX}"
            raise error("keywords.too-many", message, position_of(self.text, 0))
        return KeywordQuery(distinct, Mode.ANY if self.is_any and len(distinct) > 1 else Mode.ALL)


def _split_quotes(run: str, *, is_quoted: bool) -> tuple[bool, bool, str]:
    """Whether a quotation begins in a run, whether it ends there, and the rest of the run."""
    inside = run.lstrip(_PUNCTUATION)
    opens = not is_quoted and inside.startswith(_QUOTES)
    content = inside[1:] if opens else run
    inside = content.rstrip(_PUNCTUATION)
    closes = (is_quoted or opens) and inside.endswith(_QUOTES)
    return opens, closes, inside[:-1] if closes else content


def _count_quotes(text: str) -> int:
    return sum(map(text.count, _QUOTES))


def _refuse_unsupported(run: str, text: str, offset: int, *, is_quoted: bool) -> None:
    if "*" in run:
        message = "`*` is not supported: words match exactly"
        raise _unsupported(message, text, offset + run.index("*"))
    if run == _NOT and not is_quoted:
        message = "`NOT` is not supported (write `not` for the word itself)"
        raise _unsupported(message, text, offset)


def _misplaced(operator: str, text: str, offset: int) -> Exception:
    word = operator.lower()
    message = f"`{operator}` must stand between two words (write `{word}` for the word itself)"
    return error("keywords.mixed", message, position_of(text, offset))


def _unsupported(message: str, text: str, offset: int) -> Exception:
    return error("keywords.unsupported", message, position_of(text, offset))
