"""Generates the values of catalogue documents from the vocabulary of a language.

The matching determines the kind of value: an element whose global counterpart is ``room`` gets a
room number, whatever its local name is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from penstock.lab.workload.weighted_choice import Rnd
from penstock.schema import Place


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of one language."""

    topics: tuple[str, ...]
    titles: tuple[str, ...]
    """Course titles, with a ``{topic}``."""
    departments: tuple[str, ...]
    faculties: tuple[str, ...]
    given_names: tuple[str, ...]
    family_names: tuple[str, ...]
    days: tuple[str, ...]
    terms: tuple[str, ...]
    levels: tuple[str, ...]
    exams: tuple[str, ...]
    buildings: tuple[str, ...]
    sentences: tuple[str, ...]
    """Sentences of course descriptions."""
    lives: tuple[str, ...]
    """Sentences of biographies."""
    cities: tuple[str, ...]
    countries: tuple[str, ...]


@cache
def vocabulary_of(language: str) -> Vocabulary:
    """Load the vocabulary of a language."""
    path = files("penstock.lab.catalogues") / "vocabularies" / f"{language}.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return Vocabulary(**{key: tuple(values) for key, values in table.items()})


class ValueGenerator:
    """Generates values; the values of one course share a topic."""

    def __init__(self, words: Vocabulary, language: str, university: str, rnd: Rnd) -> None:
        self._words = words
        self._language = language
        self._university = university
        self._rnd = rnd
        self._topic = words.topics[0]
        self._person = words.family_names[0]
        self._kinds: dict[str, Callable[[], str]] = {
            "@lang": lambda: self._language,
            "@university": lambda: self._university,
            "@year": self._year,
            "@name": lambda: self._one(words.faculties),
            "assistant": self._name,
            "author": self._name,
            "biography": lambda: self._text(words.lives, 1, 4),
            "building": lambda: self._one(words.buildings),
            "capacity": lambda: str(10 * self._number(1, 30)),
            "city": lambda: self._one(words.cities),
            "code": self._code,
            "country": lambda: self._one(words.countries),
            "credits": lambda: self._one(("2", "3", "4", "5", "6", "7.5", "10")),
            "date": lambda: f"{self._year()}-{self._number(1, 12):02}-{self._number(1, 28):02}",
            "day": lambda: self._one(words.days),
            "description": lambda: self._text(words.sentences, 2, 6),
            "email": self._email,
            "form": lambda: self._one(words.exams),
            "interest": lambda: self._one(words.topics),
            "level": lambda: self._one(words.levels),
            "number": lambda: str(self._number(1, 12)),
            "office": self._room,
            "phone": lambda: f"+{self._number(30, 49)} {self._number(1000000, 9999999)}",
            "prerequisite": self._code,
            "room": self._room,
            "term": lambda: self._one(words.terms),
            "time": lambda: f"{self._number(8, 18):02}:{self._one(('00', '15', '30'))}",
            "title": lambda: self._one(words.titles).format(topic=self._topic),
            "year": self._year,
        }
        self._names: dict[str, Callable[[], str]] = {
            "department": lambda: self._one(words.departments),
            "instructor": self._new_person,
            "publisher": lambda: f"{self._one(words.family_names)} & {self._one(words.cities)}",
        }

    def begin_course(self) -> None:
        """Start a new course with a new topic."""
        self._topic = self._one(self._words.topics)

    def value(self, meaning: Place) -> str:
        """A value for a node or attribute whose global counterpart is ``meaning``."""
        if meaning.attribute is not None:
            return self._kinds[f"@{meaning.attribute.local}"]()
        last = meaning.path[-1].local
        if last == "name":
            return self._names[meaning.path[-2].local]()
        return self._kinds[last]()

    def _number(self, least: int, most: int) -> int:
        return least + int(self._rnd() * (most - least + 1))

    def _one(self, items: Sequence[str]) -> str:
        return items[int(self._rnd() * len(items))]

    def _text(self, sentences: Sequence[str], least: int, most: int) -> str:
        # Consecutive sentences from a random start, so that none repeats.
        first, count = self._number(0, len(sentences) - 1), self._number(least, most)
        chosen = (sentences[(first + number) % len(sentences)] for number in range(count))
        return " ".join(chosen).format(topic=self._topic)

    def _year(self) -> str:
        return str(self._number(1998, 2026))

    def _code(self) -> str:
        letters = "".join(c for c in self._topic.upper() if c.isascii() and c.isalpha())
        return f"{letters[:3]}{self._number(100, 699)}"

    def _room(self) -> str:
        return f"{self._one(('A', 'B', 'C', 'D'))}{self._number(1, 4)}.{self._number(1, 40):02}"

    def _name(self) -> str:
        return f"{self._one(self._words.given_names)} {self._one(self._words.family_names)}"

    def _new_person(self) -> str:
        self._person = self._name()
        return self._person

    def _email(self) -> str:
        letters = "".join(c for c in self._person.lower() if c.isascii() and c.isalpha())
        return f"{letters}@example.org"
