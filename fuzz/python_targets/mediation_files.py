"""Matching, abbreviation and global schema files, and tables of mappings: printing what was parsed
gives a file with the same content.

The first byte selects the kind, the rest is the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

from penstock.errors import IndexFileError, MappingError, SchemaError
from penstock.mediation import SchemaMatching
from penstock.mediation.global_schema import GlobalSchema
from penstock.mediation.mapping_table import MappingTable
from penstock.mediation.schema_matching.name_words import Abbreviations

DICTIONARY = "outlines.dict"


class _Printed(Protocol):
    @classmethod
    def from_text(cls, text: str) -> Self: ...

    def to_text(self) -> str: ...


_PRINTED: tuple[type[_Printed], ...] = (SchemaMatching, GlobalSchema, MappingTable)
_PARSERS: tuple[Callable[[str], object], ...] = (
    *(kind.from_text for kind in _PRINTED),
    Abbreviations.from_text,
)


def seeds() -> list[bytes]:
    """A valid file of each kind."""
    table = MappingTable({("p", "s"): "sha256:1"}, frozenset({"d"}), {"sha256:1": "text"})
    return [
        b"\0penstock matching 1\n/a /b 0.94\n/a/@c /b/c 0.5 uncertain\n",
        b"\0penstock matching 1\nnamespace p urn:p\n/p:a /b\n/p:a/c /b/@d\n",
        b"\1penstock schema 1\ndomain d version 2 after sha256:00\na\n  b*\n",
        b"\2" + table.to_text().encode(),
        b"\3penstock abbreviations 1\ncrs   course\nsws hours per week\na = b = c\n",
    ]


def run_input(data: bytes) -> None:
    """Parse a file and print it."""
    if not data:
        return
    number, text = data[0] % len(_PARSERS), data[1:].decode("utf-8", errors="replace")
    try:
        parsed = _PARSERS[number](text)
    except (IndexFileError, MappingError, SchemaError):
        return
    if number < len(_PRINTED):
        kind = _PRINTED[number]
        assert isinstance(parsed, kind)
        assert kind.from_text(parsed.to_text()) == parsed
