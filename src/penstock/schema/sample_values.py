"""Sketches of the values at each place of sample documents, in bounded memory.

A sketch counts the kinds and lengths of all values, and stores the smallest hashes of the distinct
ones (a bottom-k sample). Samples are coordinated by hash, so two sketches estimate the overlap of
two value sets. Merging is commutative and associative.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from penstock.documents import EndElement, Event, Name, StartElement, Text
from penstock.errors import error
from penstock.schema.limits import (
    SAMPLE_PATHS_MAX,
    SHAPES_MAX,
    SKETCH_VALUES_MAX,
    SKETCH_WORDS_MAX,
    VALUE_LENGTH_MAX,
)
from penstock.schema.tree import Place


class ValueKind(StrEnum):
    """The format of a value; the first pattern that matches."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    ADDRESS = "address"
    """A URL or an e-mail address."""
    CODE = "code"
    """Letters with digits or punctuation, without spaces."""
    WORD = "word"
    PHRASE = "phrase"
    PROSE = "prose"
    """Longer than a phrase."""


PHRASE_WORDS_MAX: Final = 8

SHAPE_DIGITS_MAX: Final = 5
"""Digits that patterns tell apart; longer runs are alike."""

SHAPE_LENGTH_MAX: Final = 12
"""Characters of a pattern; the rest of a value is not compared by pattern."""

_TIME = r"\d{1,2}[:.h]\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?(?:z|[+-]\d{2}:?\d{2})?"
_PATTERNS: Final = {
    ValueKind.DATE: re.compile(
        rf"\d{{4}}-\d{{2}}(?:-\d{{2}})?(?:[t ]{_TIME})?"
        r"|\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})"
    ),
    ValueKind.TIME: re.compile(rf"{_TIME}(?: ?(?:-|–|to) ?{_TIME})?"),
    ValueKind.NUMBER: re.compile(r"[+-]?\d+(?:[., ]\d+)*(?:e[+-]?\d+)?"),
    ValueKind.ADDRESS: re.compile(r"[a-z][a-z0-9+.-]*://\S+|mailto:\S+|[^\s@]+@[^\s@]+|www\.\S+"),
    ValueKind.WORD: re.compile(r"[^\W\d_]+"),
    ValueKind.CODE: re.compile(r"\S+"),
}
"""Patterns in order of precedence, for trimmed lower-case values."""


_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")
_RUNS: Final = re.compile(r"(?P<digits>\d+)|(?P<letters>[^\W\d_]+)|\s+|.")


def shape_of(value: str) -> str:
    """The pattern of a trimmed lower-case value: runs of letters, digits by number, punctuation.

    >>> [shape_of(value) for value in ("9:30am", "cs 101", "10:00-10:50", "123456")]
    ['9:99a', 'a 999', '99:99-99:99', '99999']
    """
    found = ""
    for run in _RUNS.finditer(value):
        digits = run["digits"]
        found += (
            "9" * min(len(digits), SHAPE_DIGITS_MAX)
            if digits
            else "a"
            if run["letters"]
            else run[0][0]
        )
        if len(found) >= SHAPE_LENGTH_MAX:
            break
    return found[:SHAPE_LENGTH_MAX]


def kind_of(value: str) -> ValueKind:
    """The kind of a trimmed lower-case value.

    >>> [str(kind_of(value)) for value in ("2026-03-01", "9:15 - 10:45", "cs-101", "two words")]
    ['date', 'time', 'code', 'phrase']
    """
    for kind, pattern in _PATTERNS.items():
        if pattern.fullmatch(value):
            return kind
    return ValueKind.PHRASE if len(value.split()) <= PHRASE_WORDS_MAX else ValueKind.PROSE


@dataclass(frozen=True, slots=True)
class ValueSketch:
    """The values of one place."""

    kinds: Mapping[ValueKind, int] = field(default_factory=dict)
    """Values of each kind."""
    shapes: Mapping[int, int] = field(default_factory=dict)
    """Values of each pattern, by a hash of the pattern."""
    words: Mapping[int, int] = field(default_factory=dict)
    """Words and numbers of all values, by a hash of each."""
    length: int = 0
    """Total characters of all values."""
    hashes: tuple[int, ...] = ()
    """The smallest hashes of distinct values, ascending."""

    @classmethod
    def of(cls, values: Iterable[str]) -> ValueSketch:
        """Sketches these values, ignoring case and runs of white space."""
        drawing = _SketchBuilder()
        for value in values:
            drawing.add(value)
        return drawing.sketch()

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(self.kinds.values())

    def merged(self, other: ValueSketch) -> ValueSketch:
        """Merges two sets of values."""
        kinds = Counter(self.kinds) + Counter(other.kinds)
        hashes = _smallest({*self.hashes, *other.hashes})
        shapes = Counter(self.shapes) + Counter(other.shapes)
        words = Counter(self.words) + Counter(other.words)
        length = self.length + other.length
        return ValueSketch(dict(kinds), dict(shapes), dict(words), length, tuple(hashes))

    def overlap(self, other: ValueSketch) -> float:
        """The fraction of the smaller value set that the larger one contains, from 0 to 1.

        Exact while neither sketch is full, otherwise an estimate.
        """
        # Both sketches are complete up to this hash.
        known = min(self._known_to(), other._known_to())
        here, there = (
            {each for each in sketch.hashes if each <= known} for sketch in (self, other)
        )
        smaller = min(len(here), len(there))
        return len(here & there) / smaller if smaller else 0.0

    def _known_to(self) -> int:
        is_full = len(self.hashes) == SKETCH_VALUES_MAX
        return self.hashes[-1] if is_full else 1 << 64


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def _smallest(hashes: Iterable[int]) -> list[int]:
    return sorted(hashes)[:SKETCH_VALUES_MAX]


class _SketchBuilder:
    """Builds a sketch."""

    def __init__(self) -> None:
        self._kinds: Counter[ValueKind] = Counter()
        self._shapes: Counter[int] = Counter()
        self._words: Counter[int] = Counter()
        self._length = 0
        self._hashes: set[int] = set()

    def add(self, value: str) -> None:
        normal = " ".join(value.casefold().split())[:VALUE_LENGTH_MAX]
        self._kinds[kind_of(normal)] += 1
        self._shapes[_hash(shape_of(normal)) % SHAPES_MAX] += 1
        self._words.update(_hash(word) % SKETCH_WORDS_MAX for word in _WORDS.findall(normal))
        self._length += len(normal)
        self._hashes.add(_hash(normal))
        if len(self._hashes) > 4 * SKETCH_VALUES_MAX:
            self._hashes = set(_smallest(self._hashes))

    def sketch(self) -> ValueSketch:
        hashes = tuple(_smallest(self._hashes))
        counts = dict(self._kinds), dict(self._shapes), dict(self._words)
        return ValueSketch(*counts, self._length, hashes)


@dataclass(frozen=True, slots=True)
class SampleValues:
    """Sketches of the values at each place of sample documents; empty by default.

    >>> from penstock.documents import read_events
    >>> values = SampleValues.of(read_events(b"<a n='1'>text<b/></a>"))
    >>> [(str(place), sketch.count) for place, sketch in values.places.items()]
    [('/a/@n', 1), ('/a', 1)]
    """

    places: Mapping[Place, ValueSketch] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> SampleValues:
        """Summarises one document."""
        gathering = _ValueCollector()
        for event in events:
            gathering.handle(event)
        return cls({place: drawing.sketch() for place, drawing in gathering.places.items()})

    def merged(self, other: SampleValues) -> SampleValues:
        """Merges two sets of values."""
        places = dict(self.places)
        for place, sketch in other.places.items():
            places[place] = places[place].merged(sketch) if place in places else sketch
        _require_few(places)
        return SampleValues(places)


def _require_few(places: Sized) -> None:
    if len(places) > SAMPLE_PATHS_MAX:
        raise error("schema.samples", f"the samples have more than {SAMPLE_PATHS_MAX} paths")


class _ValueCollector:
    """Collects the values of one document."""

    def __init__(self) -> None:
        self.places: dict[Place, _SketchBuilder] = {}
        self._path: list[Name] = []
        self._texts: list[str] = []
        """The direct text of each open element, truncated to the compared length."""

    def handle(self, event: Event) -> None:
        if isinstance(event, StartElement):
            self._path.append(event.name)
            self._texts.append("")
            for attribute in event.attributes:
                self._add(Place(tuple(self._path), attribute.name), attribute.value)
        elif isinstance(event, Text):
            if len(self._texts[-1]) < VALUE_LENGTH_MAX:
                self._texts[-1] = f"{self._texts[-1]} {event.text[:VALUE_LENGTH_MAX]}"
        elif isinstance(event, EndElement):
            self._add(Place(tuple(self._path)), self._texts.pop())
            self._path.pop()

    def _add(self, place: Place, value: str) -> None:
        if value and not value.isspace():
            self.places.setdefault(place, _SketchBuilder()).add(value)
            _require_few(self.places)
