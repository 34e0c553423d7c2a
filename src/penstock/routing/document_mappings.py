"""Determines the mapping of a document, the same at every router on its way."""

from __future__ import annotations

from typing import Final

from penstock.documents import Document, Header
from penstock.mediation import Mapping
from penstock.mediation.mapping_cache import MappingCache
from penstock.mediation.mapping_selection import DIGEST_FIELD, MAPPING_FIELD, MappingChooser
from penstock.mediation.mapping_table import MappingTable

_PARSED: Final = MappingCache()
"""The parsed mappings of all routers in this process: a worker of a router tree has many."""


class DocumentMappings:
    """The first router selects the mapping of a document; the others use the one it names.

    A new mapping of a schema reaches the routers at different times. If each selected for itself,
    one could filter out what the subscriber's own router would match.

    Examples
    --------
    >>> mappings = DocumentMappings(MappingTable({}, unknown_schema="as-is"))
    >>> document = Document(b"<a/>", Header(publisher="wire", schema="unregistered"))
    >>> mappings.select(document), mappings.named(document, "")
    (None, None)
    """

    def __init__(self, table: MappingTable) -> None:
        self._chooser = MappingChooser(table, _PARSED)

    def select(self, document: Document) -> Mapping | None:
        """The mapping of a document at its first router; ``None`` if it needs none.

        Raises
        ------
        DocumentError
            ``mediation.schema``, ``mediation.carried``, ``mediation.digest`` or
            ``mediation.mapping``
        """
        return self._chooser.choose(document.header)

    def named(self, document: Document, digest: str) -> Mapping | None:
        """The mapping that a previous router named; an empty digest stands for none.

        Raises
        ------
        DocumentError
            As :meth:`select`.
        """
        if not digest:
            return None
        header = document.header
        if MAPPING_FIELD in header.fields:
            return self._chooser.choose(header)
        return self._chooser.choose(
            Header(publisher=header.publisher, fields={DIGEST_FIELD: digest})
        )
