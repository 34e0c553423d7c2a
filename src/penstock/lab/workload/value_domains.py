"""Vocabulary, running text, and the value domains of attributes and text-only elements.

The name determines the kind of values: ``price`` has numbers, ``issued`` dates, ``city`` words.
Values depend only on names and parameters, not on a seed, so that queries use the same values as
documents.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from random import Random

from penstock.lab.workload.parameters import ValueParameters
from penstock.lab.workload.weighted_choice import Rnd, WeightedChoice, zipf_weights
from penstock.schema.content_model import Attribute

_COMMON = """
    the of to and a in that is for it on was with as by at from he has are be his an will this who
    said have not they but its which were or had their been more about would also than after when
    one there up out two all new first last over year into could some other only years people time
"""
_NUMERIC = """
    age amount area balance charge count current degree discount distance duration employees end
    entropy height income increase initial latitude length level limit longitude mass number
    offset page pages percent period points population position postcode price quantity rank
    rate relevance reserve resolution round score size start stock sum temperature total value
    volume weight width year
"""
_DATED = "date issued expires embargo birthday opened closed created changed since"
_LONG = "abstract comment description lead line paragraph remark text"
_STARTS = "b d f g h k l m n p r s t v w z br ch dr fl gr kl pr sh sk st tr th"
_MIDDLES = "a e i o u a e i o ai ea ou é ü"

_COMMON_WORDS = _COMMON.split()
_ONSETS = _STARTS.split()
_VOWELS = _MIDDLES.split()
_CODAS = ["", "", "", "", "n", "r", "s", "l", "nd", "rt", "m"]
_SENTENCE_WORDS = 17
"""Mean number of words of a sentence."""

_NAME_PARTS = re.compile(r"[-_.:]")

TEXT_TABLE_SIZE = 1 << 15
"""Words of the running text, from which all texts are taken."""


@cache
def vocabulary(count: int) -> tuple[str, ...]:
    """Distinct words, most common first; the same in every run."""
    rnd = Random("vocabulary").random
    words = dict.fromkeys(_COMMON_WORDS[:count])
    while len(words) < count:
        # Rarer words are longer, as in natural languages.
        syllables = 2 + int(rnd() * (1 + len(words) / 2000))
        word = "".join(
            _ONSETS[int(rnd() * len(_ONSETS))] + _VOWELS[int(rnd() * len(_VOWELS))]
            for _ in range(min(syllables, 5))
        )
        words[word + _CODAS[int(rnd() * len(_CODAS))]] = None
    return tuple(words)


class RunningText:
    """Excerpts from one long text of Zipf-distributed words."""

    def __init__(self, vocabulary_size: int) -> None:
        rnd = Random("running text").random
        draw = WeightedChoice(vocabulary(vocabulary_size), zipf_weights(vocabulary_size, 1.0))
        self._words: list[str] = []
        begin = True
        for _ in range(TEXT_TABLE_SIZE):
            word = draw(rnd)
            end = rnd() < 1 / _SENTENCE_WORDS
            mark = "." if end else "," if rnd() < 0.06 else ""
            self._words.append((word.capitalize() if begin else word) + mark)
            begin = end

    def cut(self, words: int, rnd: Rnd) -> str:
        """An excerpt of this many words, at most half of the text."""
        start = int(rnd() * (TEXT_TABLE_SIZE // 2))
        return " ".join(self._words[start : start + words])


_LONG_TEXTS = frozenset(_LONG.split())


@cache
def running_text(vocabulary_size: int) -> RunningText:
    """The running text over a vocabulary of this size; shared, so it is cached."""
    return RunningText(vocabulary_size)


@cache
def relative_length(label: str) -> float:
    """The length of texts of this element relative to a paragraph."""
    if not _LONG_TEXTS.isdisjoint(_NAME_PARTS.split(label.lower())):
        return 1.0
    return 0.1 + 0.4 * Random(f"words of {label}").random()


class ValueKind(Enum):
    """The kinds of values of an attribute or element."""

    WORD = "word"
    NUMBER = "number"
    DATE = "date"
    ID = "id"
    REFERENCE = "reference"
    ENTITY = "entity"


class Domain:
    """The values of one attribute or element, and their frequencies."""

    __slots__ = ("draw", "kind")

    def __init__(self, kind: ValueKind, draw: WeightedChoice[str]) -> None:
        self.kind = kind
        self.draw = draw


_NUMBERS = frozenset(_NUMERIC.split())
_DATES = frozenset(_DATED.split())


def kind_of(name: str) -> ValueKind:
    """The kind of values, derived from the parts of a name."""
    parts = _NAME_PARTS.split(name.lower())
    if not _NUMBERS.isdisjoint(parts):
        return ValueKind.NUMBER
    return ValueKind.WORD if _DATES.isdisjoint(parts) else ValueKind.DATE


class Values:
    """The value domains of the attributes and elements of a schema."""

    def __init__(self, parameters: ValueParameters) -> None:
        self._parameters = parameters
        self._words = vocabulary(len(_COMMON_WORDS) + 20 * parameters.count)[len(_COMMON_WORDS) :]
        self._attributes: dict[tuple[str, Attribute], Domain] = {}
        self._texts: dict[str, Domain] = {}

    def of_attribute(self, label: str, attribute: Attribute) -> Domain:
        """The domain of an attribute of the element with this label."""
        key = (label, attribute)
        if key not in self._attributes:
            self._attributes[key] = self._attribute_domain(label, attribute)
        return self._attributes[key]

    def of_text(self, label: str) -> Domain:
        """The domain of a text-only element."""
        if label not in self._texts:
            self._texts[label] = self._domain(kind_of(label), label, words_max=3)
        return self._texts[label]

    def _attribute_domain(self, label: str, attribute: Attribute) -> Domain:
        if attribute.values:
            weights = zipf_weights(len(attribute.values), self._parameters.skew)
            return Domain(ValueKind.WORD, WeightedChoice(attribute.values, weights))
        if attribute.value is not None:
            return Domain(ValueKind.WORD, WeightedChoice([attribute.value], [1.0]))
        special = {
            "ID": ValueKind.ID,
            "IDREF": ValueKind.REFERENCE,
            "IDREFS": ValueKind.REFERENCE,
            "ENTITY": ValueKind.ENTITY,
            "ENTITIES": ValueKind.ENTITY,
        }
        kind = special.get(attribute.type) or kind_of(attribute.name)
        return self._domain(kind, f"{label}/@{attribute.name}", words_max=1)

    def _domain(self, kind: ValueKind, place: str, words_max: int) -> Domain:
        count = self._parameters.count
        if kind is ValueKind.NUMBER:
            return Domain(
                kind, WeightedChoice([str(number) for number in range(count)], [1.0] * count)
            )
        weights = zipf_weights(count, self._parameters.skew)
        if kind is ValueKind.DATE:
            return Domain(kind, WeightedChoice([_date(number) for number in range(count)], weights))
        if kind in (ValueKind.ID, ValueKind.REFERENCE):
            return Domain(kind, WeightedChoice([f"n{number}" for number in range(count)], weights))
        rnd = Random(f"values of {place}").random
        values: dict[str, None] = {}
        while len(values) < count:
            words = 1 + int(rnd() * words_max)
            picked = (self._words[int(rnd() * len(self._words))] for _ in range(words))
            values[" ".join(picked)] = None
        return Domain(kind, WeightedChoice(list(values), weights))


def _date(number: int) -> str:
    return f"{2020 + number // 336}-{1 + number // 28 % 12:02}-{1 + number % 28:02}"
