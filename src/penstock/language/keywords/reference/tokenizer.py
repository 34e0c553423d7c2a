"""The reference tokenizer: the rules of UAX #29, one by one.

Text between white space is split at word boundaries; segments with a letter or digit are words. The
native core uses precomputed tables, and tests compare the two.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex

from penstock.language.keywords.tokenizer_options import TokenizerOptions
from penstock.language.limits import WORD_BYTES_MAX

_CLASSES: Final = (
    *("Extend", "Format", "ZWJ", "ALetter", "Hebrew_Letter", "Katakana", "Numeric"),
    *("Single_Quote", "Double_Quote", "MidNumLet", "MidLetter", "MidNum"),
    *("ExtendNumLet", "Regional_Indicator"),
)
"""The values of the property Word_Break used by the rules."""

_CLASS = regex.compile("|".join(rf"(?P<{name}>\p{{WB={name}}})" for name in _CLASSES))
_PICTOGRAPH = regex.compile(r"\p{Extended_Pictographic}")
_LETTER_OR_DIGIT = regex.compile(r"[\p{Alphabetic}\p{N}]")
_RUN = regex.compile(r"\P{White_Space}+")
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019\uff07", "'"))
"""Quotation marks that are used as apostrophes inside words."""
_MARKED_LETTER = regex.compile(
    r"(?V1)(\u0438\u0306|[\p{Alphabetic}&&[\u0000-\u02ff\u0370-\u052f]])[\u0300-\u036f]*"
)
"""A Latin, Greek or Cyrillic letter with its marks; the breve is part of the letter ``й``."""
_PLAIN_LETTERS: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i"}
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
"""Latin letters that Unicode does not decompose, and how they are written where keyboards lack
them."""
_ABBREVIATION = regex.compile(r"(?V1)[\p{Alphabetic}--\p{M}](?:\.[\p{Alphabetic}--\p{M}])+")
"""Single letters with dots between them. Marks are no letters, though Unicode calls some
alphabetic."""
_BETWEEN_PARTS = regex.compile(
    r"_|(?<=[\p{Lowercase}\p{N}])(?=\p{Uppercase})"
    r"|(?<=\p{Uppercase})(?=\p{Uppercase}\p{Lowercase})"
)
"""Between the parts of a name such as ``eventCode``, ``event_code`` or ``XMLEvent``."""

GAP: Final = ""
"""In place of a word that is too long, because the words around it are not adjacent."""

_IGNORED: Final = frozenset({"Extend", "Format", "ZWJ"})
_LETTER: Final = frozenset({"ALetter", "Hebrew_Letter"})
_BETWEEN_LETTERS: Final = frozenset({"MidLetter", "MidNumLet", "Single_Quote"})
_BETWEEN_DIGITS: Final = frozenset({"MidNum", "MidNumLet", "Single_Quote"})
_REGIONAL: Final = "Regional_Indicator"
_JOINER: Final = "\u200d"
_BESIDE_CONNECTOR: Final = _LETTER | {"Numeric", "Katakana", "ExtendNumLet"}


def words(text: str, options: TokenizerOptions) -> list[str]:
    """The words of a text in order, without those that are too long."""
    return [word for word in words_and_gaps(text, options) if word != GAP]


def words_and_gaps(text: str, options: TokenizerOptions) -> list[str]:
    """The words of a text in order, with a :data:`GAP` for each that is too long."""
    return [word for run in runs(text) for word in words_of_run(run[0], options)]


def runs(text: str) -> Iterator[regex.Match[str]]:
    """The runs of text between white space."""
    return _RUN.finditer(text)


def words_of_run(run: str, options: TokenizerOptions) -> Iterator[str]:
    """The words of a text without white space, with a :data:`GAP` for each that is too long."""
    for segment in _segments(run):
        if _LETTER_OR_DIGIT.search(segment):
            folded = unicodedata.normalize("NFC", segment.casefold())
            is_short = len(folded.encode("utf-8", "surrogatepass")) <= WORD_BYTES_MAX
            yield unified(folded, options) if is_short else GAP


def unified(folded: str, options: TokenizerOptions) -> str:
    """The common form of the spellings of a case-folded word."""
    if options.unify_apostrophes:
        folded = folded.translate(_APOSTROPHES)
    if options.fold_diacritics:
        decomposed = unicodedata.normalize("NFD", folded)
        plain = _MARKED_LETTER.sub(r"\1", decomposed).translate(_PLAIN_LETTERS)
        folded = unicodedata.normalize("NFC", plain)
    if options.unify_abbreviations and _ABBREVIATION.fullmatch(folded):
        folded = unicodedata.normalize("NFC", folded.replace(".", ""))
    return folded


def words_of_name(name: str, options: TokenizerOptions) -> list[list[str]]:
    """The words of a name, and those of its parts if it has several.

    >>> words_of_name("XMLEvent_code", TokenizerOptions())
    [['xmlevent_code'], ['xml', 'event', 'code']]
    """
    parts = _BETWEEN_PARTS.sub(" ", name) if options.split_names else name
    return [words_and_gaps(text, options) for text in (name, parts)[: 1 + (parts != name)]]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A character with the following characters that extend it (WB4)."""

    start: int
    kind: str
    """The character's value of the property Word_Break."""
    is_joined: bool
    """Whether it is a pictograph after a zero-width joiner (WB3c)."""


def _segments(run: str) -> Iterator[str]:
    """The segments between word boundaries."""
    units = _units(run)
    starts = [
        unit.start
        for at, unit in enumerate(units)
        if at == 0 or not (unit.is_joined or _no_boundary_before(units, at))
    ]
    for start, end in itertools.pairwise([*starts, len(run)]):
        yield run[start:end]


def _units(run: str) -> list[_Unit]:
    units: list[_Unit] = []
    for at, character in enumerate(run):
        kind = _class(character)
        if at == 0 or kind not in _IGNORED:
            is_joined = run[at - 1 : at] == _JOINER and bool(_PICTOGRAPH.match(character))
            units.append(_Unit(at, kind, is_joined))
    return units


@lru_cache(maxsize=1 << 16)
def _class(character: str) -> str:
    found = _CLASS.match(character)
    return str(found.lastgroup) if found else "Other"


def _no_boundary_before(units: Sequence[_Unit], at: int) -> bool:
    """Whether there is no boundary before the unit; there is one before the first.

    The rules for line ends and spaces are omitted, since the text has no white space.
    """
    before, left, right, after = (
        units[place].kind if 0 <= place < len(units) else "" for place in range(at - 2, at + 2)
    )
    return (
        (left in _LETTER and right in _LETTER)  # WB5
        or (left in _LETTER and right in _BETWEEN_LETTERS and after in _LETTER)  # WB6
        or (before in _LETTER and left in _BETWEEN_LETTERS and right in _LETTER)  # WB7
        or (left == "Hebrew_Letter" and right == "Single_Quote")  # WB7a
        or (left, right, after) == ("Hebrew_Letter", "Double_Quote", "Hebrew_Letter")  # WB7b
        or (before, left, right) == ("Hebrew_Letter", "Double_Quote", "Hebrew_Letter")  # WB7c
        or (left == "Numeric" and right == "Numeric")  # WB8
        or (left in _LETTER and right == "Numeric")  # WB9
        or (left == "Numeric" and right in _LETTER)  # WB10
        or (before == "Numeric" and left in _BETWEEN_DIGITS and right == "Numeric")  # WB11
        or (left == "Numeric" and right in _BETWEEN_DIGITS and after == "Numeric")  # WB12
        or (left == "Katakana" and right == "Katakana")  # WB13
        or (left in _BESIDE_CONNECTOR and right == "ExtendNumLet")  # WB13a
        or (left == "ExtendNumLet" and right in _BESIDE_CONNECTOR)  # WB13b
        or (right == _REGIONAL and _count_of_regional(units, at) % 2 == 1)  # WB15, WB16
    )


def _count_of_regional(units: Sequence[_Unit], at: int) -> int:
    """Number of regional indicators directly before a position."""
    before = itertools.takewhile(lambda unit: unit.kind == _REGIONAL, reversed(units[:at]))
    return sum(1 for _ in before)
