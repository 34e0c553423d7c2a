"""How alike names are: by their words, and by how they are written.

Two names are alike as far as each word of one finds a like word in the other. Words are alike when
one is a short form of the other, or few letters differ. All names of both schemas are compared at
once, as matrices: schemas repeat their names, and the compiled edit distance wants many at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from penstock.mediation.schema_matching.words import Words

Matrix = npt.NDArray[np.float64]

SHORTENED: Final = 0.85
"""How alike a word and its beginning are, or words and their initials."""

SKELETON: Final = 0.75
"""How alike a word and some of its letters are."""

SHORT_FORM_LENGTH_MIN: Final = 3
"""Letters of a short form that no table has."""

INITIALS_MAX: Final = 6
"""Letters of initials."""

EDIT_SIMILARITY_MIN: Final = 0.5
"""The part of letters that must agree before words count as alike at all: below, chance rules."""

_VOWELS = frozenset("aeiouy")


def name_similarities(locals_: Sequence[Words], targets: Sequence[Words]) -> Matrix:
    """How alike each of these names is to each of those, from 0 to 1.

    >>> from penstock.mediation.schema_matching.words import pieces
    >>> found = name_similarities([pieces("courseTitle")], [pieces("course_title"), pieces("day")])
    >>> [round(float(value), 2) for value in found[0]]
    [1.0, 0.0]
    """
    if not locals_ or not targets:
        return np.zeros((len(locals_), len(targets)))
    both = np.maximum(_by_words(locals_, targets), _by_letters(locals_, targets))
    for row, column in _initials(locals_, targets):
        both[row, column] = max(both[row, column], SHORTENED)
    for row, column in _initials(targets, locals_):
        both[column, row] = max(both[column, row], SHORTENED)
    return both


def _by_words(locals_: Sequence[Words], targets: Sequence[Words]) -> Matrix:
    """The mean, over the words of both names, of how alike each is to its best in the other."""
    words = sorted({word for name in locals_ for word in name})
    others = sorted({word for name in targets for word in name})
    alike = word_similarities(words, others)
    here, there = _counts(locals_, words), _counts(targets, others)
    # A column for each word of the other side, then its sum over the words of each name there.
    total = np.stack([alike[row > 0].max(axis=0) for row in here]) @ there.T
    total += (np.stack([alike[:, row > 0].max(axis=1) for row in there]) @ here.T).T
    total /= np.add.outer(here.sum(axis=1), there.sum(axis=1))
    return total


def _counts(names: Sequence[Words], words: Sequence[str]) -> Matrix:
    """How often each name has each of these words."""
    numbers = {word: number for number, word in enumerate(words)}
    found = np.zeros((len(names), len(words)))
    for row, name in enumerate(names):
        for word in name:
            found[row, numbers[word]] += 1
    return found


def _by_letters(locals_: Sequence[Words], targets: Sequence[Words]) -> Matrix:
    """For words that one name runs together: ``lastname`` and ``last_name``."""
    return _edit_similarities(
        ["".join(words) for words in locals_], ["".join(words) for words in targets]
    )


def word_similarities(words: Sequence[str], others: Sequence[str]) -> Matrix:
    """How alike words are: equal, one short for the other, or written alike."""
    alike = _edit_similarities(words, others)
    by_letter: dict[str, list[int]] = {}
    for column, other in enumerate(others):
        by_letter.setdefault(other[0], []).append(column)
    for row, word in enumerate(words):
        for column in by_letter.get(word[0], ()):
            alike[row, column] = max(alike[row, column], _short_form(word, others[column]))
    return alike


def _edit_similarities(rows: Sequence[str], columns: Sequence[str]) -> Matrix:
    found = cdist(rows, columns, scorer=OSA.normalized_similarity, dtype=np.float64)
    return np.maximum(0.0, (found - EDIT_SIMILARITY_MIN) / (1 - EDIT_SIMILARITY_MIN))


def _short_form(one: str, other: str) -> float:
    """How surely one of two words with the same first letter is short for the other.

    The other begins with it, or it has letters of the other in their order, and hardly any vowels.
    """
    short, long = sorted((one, other), key=len)
    if len(short) < SHORT_FORM_LENGTH_MIN or len(short) == len(long):
        return 0.0
    if long.startswith(short):
        return SHORTENED
    letters = iter(long)
    is_in_order = all(letter in letters for letter in short)
    vowels = sum(letter in _VOWELS for letter in short[1:])
    # `dept` is short for department, `date` is not short for database.
    return SKELETON if is_in_order and vowels <= 1 and len(short) + 2 <= len(long) else 0.0


def _initials(names: Sequence[Words], others: Sequence[Words]) -> list[tuple[int, int]]:
    """Which name consists of the initials of which other."""
    by_initials: dict[str, list[int]] = {}
    for number, words in enumerate(others):
        if 2 <= len(words) <= INITIALS_MAX:
            by_initials.setdefault("".join(word[0] for word in words), []).append(number)
    return [
        (number, other)
        for number, words in enumerate(names)
        if len(words) == 1
        for other in by_initials.get(words[0], ())
    ]
