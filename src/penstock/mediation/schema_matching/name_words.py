"""Splits names into words by case, punctuation and digits, and expands abbreviations."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import regex

from penstock.errors import Where, error
from penstock.schema.outline import lines_of

Words: TypeAlias = tuple[str, ...]
"""The words of a name in order, in lower case."""

_WORD = regex.compile(
    r"(?P<initials>\p{Lu}{2,})s(?!\p{Ll})"  # TAs, URLs
    r"|\p{Lu}+(?=\p{Lu}\p{Ll})"  # the XML of XMLFile
    r"|\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+|[\p{Lt}\p{Lm}\p{Lo}\p{M}]+|\p{N}+"
)
_FIRST_LINE = "penstock abbreviations 1"
_PLURAL_LENGTH_MIN = 4
"""Minimum length of a plural; shorter words keep their ``s``: ``bus``, ``gas``."""


@dataclass(frozen=True, slots=True)
class Abbreviations:
    """Abbreviations with their expansions, which may be translations, and groups of synonyms.

    >>> table = Abbreviations.shipped().extended(Abbreviations({"kurs": ("course",)}))
    >>> table.words("KursNr")
    ('course', 'number')
    """

    table: Mapping[str, Words] = field(default_factory=dict)
    synonyms: tuple[frozenset[str], ...] = ()
    """Groups of words with almost the same meaning; a word may be in several."""

    @classmethod
    def shipped(cls) -> Abbreviations:
        """The built-in table."""
        return _shipped()

    @classmethod
    def from_text(cls, text: str) -> Abbreviations:
        r"""Parse a file of abbreviations: per line an abbreviation and its words, or synonyms.

        >>> text = "penstock abbreviations 1\nbldg building\nhall = building"
        >>> sorted(*Abbreviations.from_text(text).synonyms)
        ['building', 'hall']
        """
        lines = lines_of(text)
        first = next(lines, None)
        if first is None or first.text != _FIRST_LINE:
            where = first.where if first else Where(0, 1, 1)
            message = f"the first line must be `{_FIRST_LINE}`"
            raise error("mapping.abbreviations", message, where)
        table: dict[str, Words] = {}
        synonyms = []
        for line in lines:
            if "=" in line.text:
                group = [each.split() for each in line.text.casefold().split("=")]
                if any(len(words) != 1 for words in group):
                    message = "expected single words between `=`"
                    raise error("mapping.abbreviations", message, line.where)
                synonyms.append(frozenset(singular(word) for (word,) in group))
                continue
            short, *words = line.text.casefold().split()
            if not words:
                message = "expected an abbreviation and its words"
                raise error("mapping.abbreviations", message, line.where)
            if short in table:
                raise error(
                    "mapping.abbreviations", f"duplicate abbreviation {short!r}", line.where
                )
            table[short] = tuple(words)
        return cls(table, tuple(synonyms))

    def extended(self, other: Abbreviations) -> Abbreviations:
        """Combines both tables; the other one takes precedence."""
        return Abbreviations({**self.table, **other.table}, (*self.synonyms, *other.synonyms))

    def words(self, name: str) -> Words:
        """The words of a name, singular and expanded; at least one."""
        found: list[str] = []
        for word in split_words(name):
            # The table comes first: its entries may end in s.
            found += self.table.get(word) or self.table.get(singular(word)) or (singular(word),)
        return tuple(found)


@cache
def _shipped() -> Abbreviations:
    text = (files(__package__) / "abbreviations.txt").read_text(encoding="utf-8")
    return Abbreviations.from_text(text)


def split_words(name: str) -> Words:
    """The words of a name without expansion.

    >>> split_words("courseNo2"), split_words("TAs"), split_words("XMLFile_list")
    (('course', 'no', '2'), ('ta',), ('xml', 'file', 'list'))
    """
    normal = unicodedata.normalize("NFC", name)
    found = [each["initials"] or each[0] for each in _WORD.finditer(normal)]
    return tuple(word.casefold() for word in found or [normal])


def singular(word: str) -> str:
    """The singular of an English word.

    >>> [singular(word) for word in ("courses", "faculties", "class", "campus")]
    ['course', 'faculty', 'class', 'campus']
    """
    if len(word) < _PLURAL_LENGTH_MIN or word.endswith(("ss", "us", "is")):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")
