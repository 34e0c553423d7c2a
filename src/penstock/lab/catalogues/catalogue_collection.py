"""Forty invented course catalogues, modelled on the THALIA benchmark.

Each consists of three hand-written files: the university's local schema, a matching with the global
schema, and a mapping. The mappings have the same operator counts as the paper's mappings of THALIA:
148 in total, 89 Rename, 31 Insert, 17 ToElement, 6 Upgrade, 3 Downgrade, 2 Exchange.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from penstock.errors import error
from penstock.mediation import Mapping, SchemaMatching
from penstock.schema import SchemaTree, read_tree


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The catalogue of one university."""

    name: str
    """The stem of its file names."""
    university: str
    language: str
    """The language of its texts; element names may be in another one."""

    @property
    def schema(self) -> SchemaTree:
        """The local schema."""
        return _schema(self.name)

    @property
    def matching(self) -> SchemaMatching:
        """The global counterpart of every node and attribute of the local schema."""
        return _matching(self.name)

    @property
    def mapping(self) -> Mapping:
        """The hand-written mapping to the global schema."""
        return _mapping(self.name)


CATALOGUES: Final = (
    Catalogue("aldermoor", "University of Aldermoor", "en"),
    Catalogue("brackwater", "Brackwater College", "en"),
    Catalogue("calderstone", "Calderstone University", "en"),
    Catalogue("dunmere", "Dunmere Institute of Technology", "en"),
    Catalogue("eastvale", "Eastvale State University", "en"),
    Catalogue("farrowgate", "Farrowgate University", "en"),
    Catalogue("grauburg", "Universität Grauburg", "de"),
    Catalogue("hallowmere", "Hallowmere University", "en"),
    Catalogue("isenfurt", "Hochschule Isenfurt", "de"),
    Catalogue("jorvalla", "Jorvalla universitet", "sv"),
    Catalogue("kestrelhay", "Kestrelhay College", "en"),
    Catalogue("lindholt", "Lindholt Universitet", "sv"),
    Catalogue("montclair-sur-aire", "Université de Montclair-sur-Aire", "fr"),
    Catalogue("northwick", "University of Northwick", "en"),
    Catalogue("oakhampton", "Oakhampton University", "en"),
    Catalogue("pennock", "Pennock Agricultural College", "en"),
    Catalogue("quillan", "Quillan University", "en"),
    Catalogue("ravensworth", "Ravensworth University", "en"),
    Catalogue("saltmarsh", "Saltmarsh Maritime University", "en"),
    Catalogue("tessaro", "Università di Tessaro", "it"),
    Catalogue("umberleigh", "Umberleigh University", "en"),
    Catalogue("valdoro", "Universidad de Valdoro", "es"),
    Catalogue("westerby", "Westerby University", "en"),
    Catalogue("yarrowfield", "Yarrowfield College", "en"),
    Catalogue("zwaneveld", "Universiteit Zwaneveld", "nl"),
    Catalogue("ashcombe", "Ashcombe University", "en"),
    Catalogue("birkenthal", "Universität Birkenthal", "de"),
    Catalogue("corvedale", "Corvedale University", "en"),
    Catalogue("drumlanach", "Drumlanach University", "en"),
    Catalogue("elmsted", "Elmsted Community College", "en"),
    Catalogue("fontanelle", "Université Fontanelle", "fr"),
    Catalogue("glenavon", "Glenavon University", "en"),
    Catalogue("harsholm", "Harsholm Universitet", "sv"),
    Catalogue("inverlochie", "Inverlochie University", "en"),
    Catalogue("juniper-bay", "Juniper Bay University", "en"),
    Catalogue("kirchwald", "Universität Kirchwald", "de"),
    Catalogue("larkhaven", "Larkhaven University", "en"),
    Catalogue("millbrae", "Millbrae Polytechnic", "en"),
    Catalogue("nordenhage", "Nordenhage University", "nl"),
    Catalogue("ostrova", "Ostrova Technical University", "en"),
)
"""All forty catalogues."""

_BY_NAME: Final = {each.name: each for each in CATALOGUES}


def catalogue(name: str) -> Catalogue:
    """Look up a catalogue by name."""
    found = _BY_NAME.get(name)
    if found is None:
        raise error(
            "lab.catalogue", f"unknown catalogue {name!r}; the catalogues are {', '.join(_BY_NAME)}"
        )
    return found


@cache
def global_schema() -> SchemaTree:
    """The schema that subscriptions are written against."""
    return _schema("global")


def operator_counts() -> Counter[str]:
    """The number of operators of each kind in all mappings."""
    return Counter(type(each).__name__ for one in CATALOGUES for each in one.mapping.operators)


def file_text(name: str, kind: str) -> str:
    """Read a file of a catalogue; the kind is ``schema``, ``matching`` or ``mapping``."""
    path = files("penstock.lab.catalogues") / "data" / f"{name}.{kind}"
    return path.read_text(encoding="utf-8")


@cache
def _schema(name: str) -> SchemaTree:
    return read_tree(file_text(name, "schema"))


@cache
def _matching(name: str) -> SchemaMatching:
    return SchemaMatching.from_text(file_text(name, "matching"))


@cache
def _mapping(name: str) -> Mapping:
    return Mapping.from_text(file_text(name, "mapping"))
