"""Generates documents of a schema, by seed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from penstock.lab.workload.document_draft import DocumentDraft, Pieces
from penstock.lab.workload.parameters import DocumentParameters
from penstock.lab.workload.schema_shape import SchemaShape
from penstock.lab.workload.value_domains import Values, running_text
from penstock.lab.workload.weighted_choice import Rnd
from penstock.schema import SchemaGraph

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
"""The start of every document. Documents have no document type declaration."""

SIZE_RESERVE = 512
"""Bytes reserved for content that open elements require once the target size is reached."""


class DocumentGenerator:
    """Generates documents that are valid for a schema, in UTF-8.

    Examples
    --------
    >>> shop = SchemaGraph.from_dtd('''
    ...     <!ELEMENT shop (item+)> <!ELEMENT item (name, price?)>
    ...     <!ELEMENT name (#PCDATA)> <!ELEMENT price (#PCDATA)>''')
    >>> generator = DocumentGenerator(shop, DocumentParameters(size_min=200, size_max=300))
    >>> document = generator.document(seed=7)
    >>> 200 <= len(document) <= 300
    True
    """

    def __init__(self, schema: SchemaGraph, parameters: DocumentParameters | None = None) -> None:
        self.parameters = parameters or DocumentParameters()
        self._root = schema.root_labels[0]
        self._namespaces = "".join(
            f' {"xmlns:" + prefix if prefix else "xmlns"}="{uri}"'
            for prefix, uri in schema.namespaces.items()
        )
        self._shape = SchemaShape(schema, self.parameters.choice_skew)
        self._values = Values(self.parameters.values)
        self._text = running_text(self.parameters.vocabulary_size)

    def document(self, seed: int) -> bytes:
        """Generate the document of this seed."""
        rnd = Random(seed).random
        draft = self.draft(rnd)
        draft.grow()
        return finish(draft, rnd).encode()

    def documents(self, count: int, seed: int = 0) -> Iterator[bytes]:
        """Generate ``count`` documents; a larger count only appends."""
        seeds = Random(seed)
        for _ in range(count):
            yield self.document(int(seeds.random() * 2**53))

    def draft(self, rnd: Rnd) -> DocumentDraft:
        """Begin a document and choose its size."""
        draft = DocumentDraft(self._shape, self._values, self._text, self.parameters, rnd)
        spread = self.parameters.size_max - self.parameters.size_min
        reserve = min(spread // 2, SIZE_RESERVE)
        draft.size_wanted = self.parameters.size_min + int(rnd() * (spread - reserve))
        draft.begin(DECLARATION, self._root, self._namespaces)
        return draft


def finish(draft: DocumentDraft, rnd: Rnd) -> str:
    """The text of a draft, in which references point at its identifiers.

    References of a document without identifiers are omitted.
    """
    count = len(draft.identifiers)
    for number, deferred in enumerate(draft.identifiers):
        deferred.fill(f"n{number}")
    for deferred in draft.references if count else ():
        deferred.fill(f"n{int(rnd() * count)}")
    return "".join(flat(draft.pieces))


def flat(pieces: Pieces) -> Iterator[str]:
    """The pieces in document order, with those of slots."""
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        else:
            yield from flat(piece)
