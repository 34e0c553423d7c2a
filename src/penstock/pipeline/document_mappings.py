"""Chooses the mapping of each document in a batch by its header. Independent of Spark."""

from __future__ import annotations

from collections.abc import Mapping as Map
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Header
from penstock.documents.failure_report import PROCESS_EXITS, internal_error
from penstock.errors import DocumentError
from penstock.mediation import Mapping, MappingChooser
from penstock.mediation.mapping_selection import DIGEST_FIELD, MAPPING_FIELD

_MappingHeader: TypeAlias = tuple[str, str, str | None, str | None]
"""The parts of a header that select a mapping: publisher, schema, mapping text, mapping digest."""

_FIELDS: Final = (MAPPING_FIELD, DIGEST_FIELD)


@dataclass(frozen=True, slots=True)
class BatchMappings:
    """The mappings of the documents in a batch."""

    mappings: Sequence[Mapping | None]
    """One per document, ``None`` where it has no mapping. Empty if no document has one."""
    refused: Map[int, DocumentError] = field(default_factory=dict)
    """Errors of documents whose header names no usable mapping, by row."""

    def of(self, row: int) -> Mapping | None:
        """The mapping of a document."""
        return self.mappings[row] if self.mappings else None

    def of_rows(self, rows: range) -> BatchMappings:
        """The mappings of some successive documents, as if they were the batch."""
        refused = {row - rows.start: why for row, why in self.refused.items() if row in rows}
        return BatchMappings(self.mappings[rows.start : rows.stop], refused)


NO_MAPPINGS = BatchMappings(())
"""No document has a mapping."""


def choose_mappings(documents: pa.RecordBatch, chooser: MappingChooser | None) -> BatchMappings:
    """Choose the mapping of each document; without a chooser, none has one."""
    if chooser is None:
        return NO_MAPPINGS
    fields = documents.column("fields")
    carried = [pc.map_lookup(fields, pa.scalar(name), "first") for name in _FIELDS]
    schemas: Any = documents.column("schema")
    if all(column.null_count == len(column) for column in carried) and not any(
        pc.binary_length(schemas.unique()).to_pylist()
    ):
        return NO_MAPPINGS
    columns = [documents.column("publisher"), schemas, *carried]
    # Headers repeat within a batch, so each distinct one is decided once.
    decided: dict[_MappingHeader, Mapping | BaseException | None] = {}
    mappings: list[Mapping | None] = []
    refused: dict[int, DocumentError] = {}
    for row, header in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
        if header not in decided:
            decided[header] = _choose(chooser, header)
        choice = decided[header]
        if isinstance(choice, BaseException):
            content: Any = documents.column("content")[row]
            refused[row] = internal_error(choice, content.as_py())
        mappings.append(choice if isinstance(choice, Mapping) else None)
    return BatchMappings(mappings, refused)


def _choose(chooser: MappingChooser, header: _MappingHeader) -> Mapping | BaseException | None:
    """The mapping, or why there is none."""
    publisher, schema, *carried = header
    fields = {name: text for name, text in zip(_FIELDS, carried, strict=True) if text is not None}
    try:
        return chooser.choose(Header(publisher=publisher, schema=schema, fields=fields))
    except PROCESS_EXITS:
        raise
    except BaseException as failure:
        return failure
