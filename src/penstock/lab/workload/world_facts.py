"""Generates a document with facts about the world: many small records, each of which is the answer
to a keyword query of a few common words."""

from __future__ import annotations

from random import Random

_CITIES_PER_COUNTRY = 21
_NOTE_WORDS = ("river", "harbour", "mountain", "trade", "old", "stone", "bridge", "market", "rail")
_ACCENTED_WORDS = ("fête", "größe", "niño", "café")
_NOTE_LENGTH = 32
_COUNTRY_END = " </country>\n"


def world_facts(cities: int, *, seed: int = 0, accents: bool = False) -> str:
    """A document of about 400 bytes per city, indented as people write it.

    Every city is an answer to ``city population``. With ``accents``, some words of the notes are
    written with letters outside of ASCII, all of them in ISO-8859-1.
    """
    random = Random(seed)
    words = _NOTE_WORDS + _ACCENTED_WORDS if accents else _NOTE_WORDS
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<facts>\n']
    for number in range(cities):
        if number % _CITIES_PER_COUNTRY == 0:
            code = f"C{number // _CITIES_PER_COUNTRY}"
            parts.append(_COUNTRY_END if number else "")
            parts.append(f' <country code="{code}">\n')
            parts.append(f"  <name>Country {code}</name>\n  <area>{_number(random, 7)}</area>\n")
        year = random.randrange(1980, 2020)
        note = " ".join(random.choices(words, k=_NOTE_LENGTH))
        parts.append(
            f'  <city id="city-{number}">\n   <name>Town {number}</name>\n'
            f"   <longitude>{random.uniform(-180, 180):.4f}</longitude>\n"
            f'   <population year="{year}">{_number(random, 8)}</population>\n'
            f"   <note>{note}</note>\n  </city>\n"
        )
    parts += [_COUNTRY_END if cities else "", "</facts>\n"]
    return "".join(parts)


def _number(random: Random, digits: int) -> int:
    return random.randrange(10**digits)
