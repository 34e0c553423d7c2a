"""Similarity of the names of places, alone and with the names of their parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from penstock.mediation.schema_matching.kind_similarity import Content, content_of
from penstock.mediation.schema_matching.name_similarity import Matrix, name_similarities
from penstock.mediation.schema_matching.name_words import Abbreviations, Words
from penstock.mediation.schema_matching.tree_arrays import NO_PARENT, Side

CONTEXT_WEIGHT: Final = 0.3
"""Weight of the parent's name."""

NAMING_WORDS: Final = frozenset({"name", "text", "value"})
"""Names of values that belong to their parent: ``instructor/name`` is ``instructor``."""

SPLIT_NAME: Final = 0.95
"""Similarity of a name and the concatenated names of parent and child."""

SPLIT_NAME_MIN: Final = 0.85
"""Minimum similarity for that rule."""


def place_name_similarities(local: Side, target: Side, abbreviations: Abbreviations) -> Matrix:
    """The name similarity of each pair of places."""
    own, in_context, held = _phrases(local, abbreviations)
    other_own, other_in_context, other_held = _phrases(target, abbreviations)
    phrases = sorted({*own, *in_context, *held})
    other_phrases = sorted({*other_own, *other_in_context, *other_held})
    alike = name_similarities(phrases, other_phrases, abbreviations.synonyms)
    numbers = {words: number for number, words in enumerate(phrases)}
    other_numbers = {words: number for number, words in enumerate(other_phrases)}

    def between(rows: Sequence[Words], columns: Sequence[Words]) -> Matrix:
        picked = [numbers[words] for words in rows], [other_numbers[words] for words in columns]
        found: Matrix = alike[np.ix_(*picked)]
        return found

    context = between(in_context, other_in_context)
    plain = between(own, other_own) * (1 - CONTEXT_WEIGHT + CONTEXT_WEIGHT * context)
    split = np.maximum(between(own, other_in_context), between(in_context, other_own))
    split = np.maximum(split, np.maximum(between(own, other_held), between(held, other_own)))
    return np.maximum(plain, np.where(split >= SPLIT_NAME_MIN, SPLIT_NAME * split, 0.0))


def _phrases(side: Side, abbreviations: Abbreviations) -> tuple[list[Words], ...]:
    """The words of each place: of its name, with its parent's name, and of its value."""
    own = [abbreviations.words((place.attribute or place.path[-1]).local) for place in side.places]
    in_context, held = list(own), list(own)
    for number, parent in enumerate(side.parents.tolist()):
        if parent != NO_PARENT:
            in_context[number] = (*own[parent], *own[number])
            is_value = content_of(side, number) is Content.VALUE
            if is_value and set(own[number]) <= NAMING_WORDS:
                held[number] = own[parent]
    return own, in_context, held
