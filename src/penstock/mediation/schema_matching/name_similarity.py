"""Similarity of names, by words and by spelling.

Two names are similar if each word of one has a similar word in the other. Words are similar if one
abbreviates the other or few letters differ. All names of both schemas are compared at once as
matrices, because names repeat and the compiled edit distance is efficient in batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from penstock.mediation.schema_matching.name_words import Words

Matrix = npt.NDArray[np.float64]

SHORTENED: Final = 0.85
"""Similarity of a word and its prefix, or of words and their initials."""

SKELETON: Final = 0.75
"""Similarity of a word and a subsequence of its letters."""

SYNONYM: Final = 0.8
"""Similarity of words that a list declares synonyms."""

SHORT_FORM_LENGTH_MIN: Final = 3
"""Minimum letters of an unlisted abbreviation."""

INITIALS_MAX: Final = 6
"""Minimum number of initials."""

EDIT_SIMILARITY_MIN: Final = 0.5
"""Minimum fraction of equal letters; below it, similarity is coincidental."""

_VOWELS = frozenset("aeiouy")


def name_similarities(
    locals_: Sequence[Words],
    targets: Sequence[Words],
    synonyms: Sequence[frozenset[str]] = (),
) -> Matrix:
    """The similarity of each pair of names, from 0 to 1.

    >>> from penstock.mediation.schema_matching.name_words import split_words
    >>> targets = [split_words("course_title"), split_words("day")]
    >>> found = name_similarities([split_words("courseTitle")], targets)
    >>> [round(float(value), 2) for value in found[0]]
    [1.0, 0.0]
    """
    if not locals_ or not targets:
        return np.zeros((len(locals_), len(targets)))
    both = np.maximum(_by_words(locals_, targets, synonyms), _by_letters(locals_, targets))
    for row, column in _initials(locals_, targets):
        both[row, column] = max(both[row, column], SHORTENED)
    for row, column in _initials(targets, locals_):
        both[column, row] = max(both[column, row], SHORTENED)
    return both


def _by_words(
    locals_: Sequence[Words], targets: Sequence[Words], synonyms: Sequence[frozenset[str]]
) -> Matrix:
    """The mean over all words of both names of the best similarity to a word of the other."""
    words = sorted({word for name in locals_ for word in name})
    others = sorted({word for name in targets for word in name})
    alike = word_similarities(words, others, synonyms)
    here, there = _counts(locals_, words), _counts(targets, others)
    # One column per word of the other side, summed over the words of each name.
    total = np.stack([alike[row > 0].max(axis=0) for row in here]) @ there.T
    total += (np.stack([alike[:, row > 0].max(axis=1) for row in there]) @ here.T).T
    total /= np.add.outer(here.sum(axis=1), there.sum(axis=1))
    return total


def _counts(names: Sequence[Words], words: Sequence[str]) -> Matrix:
    """The number of occurrences of each word in each name."""
    numbers = {word: number for number, word in enumerate(words)}
    found = np.zeros((len(names), len(words)))
    for row, name in enumerate(names):
        for word in name:
            found[row, numbers[word]] += 1
    return found


def _by_letters(locals_: Sequence[Words], targets: Sequence[Words]) -> Matrix:
    """Compares names without word boundaries: ``lastname`` and ``last_name``."""
    return _edit_similarities(
        ["".join(words) for words in locals_], ["".join(words) for words in targets]
    )


def word_similarities(
    words: Sequence[str], others: Sequence[str], synonyms: Sequence[frozenset[str]] = ()
) -> Matrix:
    """The similarity of words: equal, synonyms, abbreviated, or similar in spelling."""
    alike = _edit_similarities(words, others)
    by_letter: dict[str, list[int]] = {}
    for column, other in enumerate(others):
        by_letter.setdefault(other[0], []).append(column)
    for row, word in enumerate(words):
        for column in by_letter.get(word[0], ()):
            alike[row, column] = max(alike[row, column], _short_form(word, others[column]))
    numbers = {word: row for row, word in enumerate(words)}
    other_numbers = {word: column for column, word in enumerate(others)}
    for group in synonyms:
        rows = [numbers[word] for word in group if word in numbers]
        columns = [other_numbers[word] for word in group if word in other_numbers]
        block = np.ix_(rows, columns)
        alike[block] = np.maximum(alike[block], SYNONYM)
    return alike


def _edit_similarities(rows: Sequence[str], columns: Sequence[str]) -> Matrix:
    found = cdist(rows, columns, scorer=OSA.normalized_similarity, dtype=np.float64)
    return np.maximum(0.0, (found - EDIT_SIMILARITY_MIN) / (1 - EDIT_SIMILARITY_MIN))


def _short_form(one: str, other: str) -> float:
    """The confidence that one of two words with equal first letters abbreviates the other.

    It is a prefix of the other, or a subsequence of its letters with few vowels.
    """
    short, long = sorted((one, other), key=len)
    if len(short) < SHORT_FORM_LENGTH_MIN or len(short) == len(long):
        return 0.0
    if long.startswith(short):
        return SHORTENED
    letters = iter(long)
    is_in_order = all(letter in letters for letter in short)
    vowels = sum(letter in _VOWELS for letter in short[1:])
    # `dept` abbreviates department, `date` does not abbreviate database.
    return SKELETON if is_in_order and vowels <= 1 and len(short) + 2 <= len(long) else 0.0


def _initials(names: Sequence[Words], others: Sequence[Words]) -> list[tuple[int, int]]:
    """Pairs of names where one consists of the initials of the other."""
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
