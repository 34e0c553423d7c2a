"""Mappings for documents of tests, handed out as a mediator does."""

from __future__ import annotations

from pathlib import Path

from penstock.mediation import GlobalSchema, Mapping, Mediator, UnknownSchema
from penstock.schema import read_tree
from penstock.workspace import write_mappings

GLOBAL = GlobalSchema("wire", 1, read_tree("penstock schema 1\nnews ...\n"))

UNCHANGED = Mapping.from_text("penstock mapping 1\nnews\n")
"""Makes of a document what it is."""

TURNED_OLD = Mapping.from_text("penstock mapping 1\nnews\n  => rename olds\n")

GERMAN = Mapping.from_text(
    """penstock mapping 1
nachrichten
  => rename news
  meldung*
    @preis?
    => to-element @preis as price
    => rename item
"""
)
"""``<nachrichten><meldung preis="7"/></nachrichten>`` is
``<news><item><price>7</price></item></news>``."""


def mediator_of(mappings: dict[str, Mapping], *, publisher: str = "") -> Mediator:
    """A mediator that knows these mappings by the names of schemas."""
    mediator = Mediator([GLOBAL])
    for schema, mapping in mappings.items():
        mediator.register(schema, mapping, publisher=publisher)
    return mediator


def mappings_at(
    folder: Path, mappings: dict[str, Mapping], *, unknown_schema: UnknownSchema = "refuse"
) -> str:
    """The URI of mappings by the names of schemas, of any publisher."""
    table = mediator_of(mappings).table(unknown_schema=unknown_schema)
    return write_mappings(str(folder / "mappings"), table)
