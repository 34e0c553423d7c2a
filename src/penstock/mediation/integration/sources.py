"""The local schemas of an integration, and their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.schema import Place, SampleValues, SchemaTree


@dataclass(frozen=True, slots=True)
class Source:
    """A schema and the values of its sample documents, if there are any."""

    tree: SchemaTree
    values: SampleValues = field(default_factory=SampleValues)


SourcePlace: TypeAlias = tuple[int, Place]
"""The number of a source, and a place in it."""


def inner_places(number: int, source: Source) -> Iterator[SourcePlace]:
    """The places with children or attributes, in document order."""
    for path, node in source.tree.nodes().items():
        if node.children or node.attributes:
            yield number, Place(path)
