"""Which mapping a document is matched by: its header says, or names a schema that is registered."""

from __future__ import annotations

from typing import Final

from penstock.documents import Header
from penstock.errors import MappingError, PenstockError, error
from penstock.mediation.limits import CARRIED_MAPPING_BYTES_MAX
from penstock.mediation.mapping import Mapping
from penstock.mediation.mapping_cache import MappingCache
from penstock.mediation.mapping_table import MappingTable

MAPPING_FIELD: Final = "mapping"
"""The field of a header that carries the text of the document's mapping."""

DIGEST_FIELD: Final = "mapping-digest"
"""The field of a header that names the document's mapping by digest; beside a text, it must be that
text's."""


def carrying(mapping: Mapping) -> dict[str, str]:
    """The fields of a header that carries a mapping.

    Raises
    ------
    DocumentError
        ``mediation.carried``: the mapping is too large to be sent along.
    """
    text = mapping.to_text()
    _check_size(text)
    return {MAPPING_FIELD: text, DIGEST_FIELD: mapping.digest}


class MappingChooser:
    """Chooses mappings, document by document, as a router does.

    What a header carries comes first, then what a mediator's table has for its schema. A document
    that names no schema, or a global one, is matched as it is.

    Parameters
    ----------
    table
        What the mediator handed out.
    cache
        Where mappings that were read are kept; one of its own by default.

    Examples
    --------
    >>> table = MappingTable({("north", "catalogue"): "sha256:1"}, frozenset({"courses"}))
    >>> choose = MappingChooser(table).choose
    >>> choose(Header(publisher="south")), choose(Header(publisher="south", schema="courses"))
    (None, None)
    >>> choose(Header(publisher="south", schema="list"))
    Traceback (most recent call last):
    penstock.errors.DocumentError: nobody registered the schema `list` of `south` [mediation.schema]
    """

    def __init__(self, table: MappingTable, cache: MappingCache | None = None) -> None:
        self._table = table
        self._cache = MappingCache() if cache is None else cache

    def choose(self, header: Header) -> Mapping | None:
        """The mapping of a document; ``None`` where it is matched as it is.

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
        message = f"nobody registered the schema `{header.schema}` of `{header.publisher}`"
        raise error("mediation.schema", message)

    def _carried(self, text: str, digest: str | None) -> Mapping:
        _check_size(text)
        try:
            known = self._cache.read(text)
        except MappingError as reason:
            raise _unreadable(reason) from reason
        if digest is not None and known.digest != digest:
            told = f"the mapping in the header is {known.digest}, and the header says {digest}"
            raise error("mediation.digest", told)
        return known.mapping

    def _named(self, digest: str) -> Mapping:
        text = self._table.texts.get(digest)
        if text is None:
            raise error("mediation.mapping", f"nobody registered a mapping {digest}")
        try:
            return self._cache.read(text, digest).mapping
        except MappingError as reason:  # registered when other things were allowed
            message = f"the mapping {digest} cannot be read any more: {reason}"
            raise error("mediation.mapping", message) from reason


def _check_size(text: str) -> None:
    size = len(text.encode())
    if size > CARRIED_MAPPING_BYTES_MAX:
        told = f"the mapping in the header has {size} bytes, more than"
        raise error("mediation.carried", f"{told} {CARRIED_MAPPING_BYTES_MAX}")


def _unreadable(reason: MappingError) -> PenstockError:
    # The place is one in the mapping: in a dead letter, a line is one of the document.
    return error("mediation.carried", f"the mapping in the header: {reason}")
