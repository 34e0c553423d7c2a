"""Selects the mapping of a document by its header or its registered schema."""

from __future__ import annotations

from typing import Final

from penstock.documents import Header
from penstock.errors import MappingError, PenstockError, error
from penstock.mediation.limits import CARRIED_MAPPING_BYTES_MAX
from penstock.mediation.mapping import Mapping
from penstock.mediation.mapping_cache import MappingCache
from penstock.mediation.mapping_table import MappingTable

MAPPING_FIELD: Final = "mapping"
"""The header field that holds the text of the document's mapping."""

DIGEST_FIELD: Final = "mapping-digest"
"""The header field that names the document's mapping by digest; it must agree with the text, if
both are present."""


def carrying(mapping: Mapping) -> dict[str, str]:
    """The header fields that hold a mapping.

    Raises
    ------
    DocumentError
        ``mediation.carried``: the mapping is too large for a header.
    """
    text = mapping.to_text()
    _check_size(text)
    return {MAPPING_FIELD: text, DIGEST_FIELD: mapping.digest}


class MappingChooser:
    """Selects the mapping of each document, as a router does.

    A mapping in the header takes precedence over the mediator's table. A document without a schema,
    or with a global one, needs no mapping.

    Parameters
    ----------
    table
        The mappings from the mediator.
    cache
        Cache of parsed mappings; a private one by default.

    Examples
    --------
    >>> table = MappingTable({("north", "catalogue"): "sha256:1"}, frozenset({"courses"}))
    >>> choose = MappingChooser(table).choose
    >>> choose(Header(publisher="south")), choose(Header(publisher="south", schema="courses"))
    (None, None)
    >>> from penstock.errors import DocumentError
    >>> try:
    ...     choose(Header(publisher="south", schema="list"))
    ... except DocumentError as refused:
    ...     print(refused)
    the schema `list` of `south` is not registered [mediation.schema]
    """

    def __init__(self, table: MappingTable, cache: MappingCache | None = None) -> None:
        self._table = table
        self._cache = MappingCache() if cache is None else cache

    def choose(self, header: Header) -> Mapping | None:
        """The mapping of a document; ``None`` if it needs none.

        Raises
        ------
        DocumentError
            ``mediation.schema``, ``mediation.carried``, ``mediation.digest`` or
            ``mediation.mapping``: the document is refused.
        """
        text, digest = header.fields.get(MAPPING_FIELD), header.fields.get(DIGEST_FIELD)
        if text is not None:
            return self._carried(text, digest)
        if digest is not None:
            return self._named(digest)
        if not header.schema:
            return None
        registered = self._table.digest_for(header.publisher, header.schema)
        if registered is not None:
            return self._named(registered)
        if self._table.is_global(header.schema) or self._table.unknown_schema == "as-is":
            return None
        message = f"the schema `{header.schema}` of `{header.publisher}` is not registered"
        raise error("mediation.schema", message)

    def _carried(self, text: str, digest: str | None) -> Mapping:
        _check_size(text)
        try:
            known = self._cache.read(text)
        except MappingError as reason:
            raise _unreadable(reason) from reason
        if digest is not None and known.digest != digest:
            message = f"the mapping in the header has digest {known.digest}, not {digest}"
            raise error("mediation.digest", message)
        return known.mapping

    def _named(self, digest: str) -> Mapping:
        text = self._table.texts.get(digest)
        if text is None:
            raise error("mediation.mapping", f"the mapping {digest} is not registered")
        try:
            return self._cache.read(text, digest).mapping
        except MappingError as reason:  # registered by a version with other rules
            message = f"the mapping {digest} is no longer valid: {reason}"
            raise error("mediation.mapping", message) from reason


def _check_size(text: str) -> None:
    size = len(text.encode())
    if size > CARRIED_MAPPING_BYTES_MAX:
        message = f"the mapping in the header has {size} bytes, more than"
        raise error("mediation.carried", f"{message} {CARRIED_MAPPING_BYTES_MAX}")


def _unreadable(reason: MappingError) -> PenstockError:
    # The position refers to the mapping, but dead letters show positions in the document.
    return error("mediation.carried", f"the mapping in the header: {reason}")
