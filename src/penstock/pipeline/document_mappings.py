"""Which mapping each document of a batch is matched by, as its header says: no Spark here."""

from __future__ import annotations

from collections.abc import Mapping as Mapped
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Header
from penstock.errors import DocumentError
from penstock.mediation import Mapping, MappingChooser
from penstock.mediation.mapping_selection import DIGEST_FIELD, MAPPING_FIELD

_Said: TypeAlias = tuple[str, str, str | None, str | None]
"""What a header says of a mapping: publisher, schema, the mapping itself, its digest."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The mappings of a batch's documents."""

    mappings: Sequence[Mapping | None]
    """A row for each document, ``None`` where it is matched as it is; empty where all are."""
    refused: Mapped[int, DocumentError] = field(default_factory=dict)
    """The documents whose headers cannot be followed, by row."""

    def of(self, row: int) -> Mapping | None:
        """The mapping of a document."""
        return self.mappings[row] if self.mappings else None


AS_THEY_ARE = Chosen(())
"""No document has a mapping."""


def choose(documents: pa.RecordBatch, chooser: MappingChooser | None) -> Chosen:
    """Choose for each document; without anyone to choose, all are matched as they are."""
    if chooser is None:
        return AS_THEY_ARE
    fields = documents.column("fields")
    carried = [pc.map_lookup(fields, pa.scalar(name), "first") for name in _FIELDS]
    schemas: Any = documents.column("schema")
    if all(column.null_count == len(column) for column in carried) and not any(
        pc.binary_length(schemas.unique()).to_pylist()
    ):
        return AS_THEY_ARE
    columns = [documents.column("publisher"), schemas, *carried]
    decided: dict[_Said, Mapping | DocumentError | None] = {}
    mappings: list[Mapping | None] = []
    refused: dict[int, DocumentError] = {}
    for row, said in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
        if said not in decided:
            decided[said] = _decided(chooser, said)
        found = decided[said]
        if isinstance(found, DocumentError):
            refused[row] = found
        mappings.append(found if isinstance(found, Mapping) else None)
    return Chosen(mappings, refused)


_FIELDS = (MAPPING_FIELD, DIGEST_FIELD)


def _decided(chooser: MappingChooser, said: _Said) -> Mapping | DocumentError | None:
    publisher, schema, *carried = said
    fields = {name: text for name, text in zip(_FIELDS, carried, strict=True) if text is not None}
    try:
        return chooser.choose(Header(publisher=publisher, schema=schema, fields=fields))
    except DocumentError as reason:
        return reason
