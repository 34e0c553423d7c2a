"""How alike the names of places are, by themselves and with what they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from penstock.mediation.schema_matching.kinds import Content, content_of
from penstock.mediation.schema_matching.name_similarity import Matrix, name_similarities
from penstock.mediation.schema_matching.sides import NO_PARENT, Side
from penstock.mediation.schema_matching.words import Abbreviations, Words

CONTEXT_WEIGHT: Final = 0.3
"""How much of a name is that of its parent."""

NAMING_WORDS: Final = frozenset({"name", "text", "value"})
"""A value called so is the value of its parent: ``instructor/name`` of ``instructor``."""

SPLIT_NAME: Final = 0.95
"""What it is worth when the name on one side is that of parent and child on the other."""

SPLIT_NAME_MIN: Final = 0.85
"""How alike these must be to count at all."""


def place_name_similarities(local: Side, target: Side, abbreviations: Abbreviations) -> Matrix:
    """How alike names are, by themselves and together with those of their parents."""
    own, in_context, held = _phrases(local, abbreviations)
    other_own, other_in_context, other_held = _phrases(target, abbreviations)
    phrases = sorted({*own, *in_context, *held})
    other_phrases = sorted({*other_own, *other_in_context, *other_held})
    alike = name_similarities(phrases, other_phrases)
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
    """The words of each place's name; with those of its parent; and what its value is."""
    own = [abbreviations.words((place.attribute or place.path[-1]).local) for place in side.places]
    in_context, held = list(own), list(own)
    for number, parent in enumerate(side.parents.tolist()):
        if parent != NO_PARENT:
            in_context[number] = (*own[parent], *own[number])
            is_value = content_of(side, number) is Content.VALUE
            if is_value and set(own[number]) <= NAMING_WORDS:
                held[number] = own[parent]
    return own, in_context, held
