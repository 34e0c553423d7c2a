"""SDR: the native core serialises the global document, which is matched like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.documents import Fragment, Limits, Name, Span
from penstock.errors import error
from penstock.matching.engine import Buffer
from penstock.matching.native_base import context_of, document_error, summary_of
from penstock.matching.results import Work
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.native_mapping import CompiledMappings
from penstock.mediation.native_rewriting import fragment_of
from penstock.mediation.provenance import Provenance, ranges_of
from penstock.mediation.tree_matching import PathMatcher, ProvenanceTable, TreeMatching, Written
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import DocumentRewriter


class DocumentWriter:
    """Serialises rewritten documents.

    Examples
    --------
    >>> from penstock.mediation import Mapping
    >>> mapping = Mapping.from_text("penstock mapping 1\\nkurs\\n  => rename course\\n")
    >>> DocumentWriter().write(b"<kurs/>", mapping).trees
    (b'<course></course>',)
    """

    def __init__(self, limits: Limits | None = None) -> None:
        if native is None:
            raise error("native.missing", "serialising rewritten documents needs the native core")
        self.core: DocumentRewriter = native.DocumentRewriter((limits or Limits()).by_name())
        self.mappings = CompiledMappings()

    def write(self, document: Buffer, mapping: SchemaMapping) -> Written:
        """The global document.

        Raises
        ------
        penstock.errors.DocumentError
            The document is refused by the reader or the mapping.
        """
        trees, counts, refusal = self.core.write(document, self.mappings.of(mapping), False)
        if refusal is not None:
            raise document_error(refusal)
        assert counts is not None, "neither counts nor a refusal"
        unknown, held_bytes, summary = counts
        work = Work(
            bytes_read=len(memoryview(document)),
            elements=summary_of(summary).elements,
            unknown=unknown,
            held_bytes=held_bytes,
        )
        return Written(tuple(tree for tree, _ in trees), work)


class StaticRewriting(TreeMatching):
    """Serialises global documents and matches them with an engine unaware of mappings."""

    def __init__(self, paths: PathMatcher) -> None:
        super().__init__(paths)
        self._writer = DocumentWriter(paths.limits)

    def written(self, document: Buffer, mapping: SchemaMapping) -> Written:
        """The global document."""
        return self._writer.write(document, mapping)

    def _provenance(
        self, document: Buffer, mapping: SchemaMapping
    ) -> Iterator[tuple[bytes, ProvenanceTable]]:
        compiled = self._writer.mappings.of(mapping)
        trees, _, refusal = self._writer.core.write(document, compiled, True)
        if refusal is not None:
            raise document_error(refusal)
        for tree, rows in trees:
            yield (
                tree,
                {
                    (kind, Span(start, end)): Provenance(
                        kind,
                        tuple(Span(*span) for span in spans),
                        None if name is None else Name(*name),
                    )
                    for kind, start, end, spans, name in rows
                },
            )

    def _cut(
        self, document: Buffer, wanted: Mapping[str, Sequence[Provenance]]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        everything = ranges_of([origin for provenance in wanted.values() for origin in provenance])
        parts, summary, refusal = self._writer.core.cut(document, list(everything))
        assert summary is not None, refusal
        context = context_of(document, summary_of(summary))
        cut = (fragment_of(document, context, part) for part in parts)
        by_range = dict(zip(everything, cut, strict=True))
        return {
            name: tuple(by_range[each] for each in ranges_of(provenance))
            for name, provenance in wanted.items()
        }
