"""The path returns of a keyword subscription in one document, created when they are requested."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.documents import Context, Fragment, Span
from penstock.matching.engine import Buffer
from penstock.matching.lazy_fragments import LazyFragments

if TYPE_CHECKING:
    from penstock._native import PathReturns as NativePathReturns

KIND: Final = "path"
"""The kind of these fragments."""


class FragmentColumns(NamedTuple):
    """Fragments as columns; numbers have 64 bits."""

    span_counts: array[int]
    """The number of spans of each fragment."""
    starts: array[int]
    """The starts of all spans."""
    ends: array[int]
    """The ends of all spans."""
    xml_lengths: array[int]
    """The length of the XML of each fragment in bytes."""
    xml: bytes
    """The result of :meth:`~penstock.documents.Fragment.to_xml` of all fragments, in UTF-8."""


class PathReturns(LazyFragments):
    """Path returns, the best first. They can be written to a table without creating them."""

    def __init__(self, returns: NativePathReturns, document: Buffer, context: Context) -> None:
        self._returns = returns
        self._document = document
        self._context = context

    def columns(self, limit: int) -> FragmentColumns:
        """The first fragments, at most ``limit``, as columns."""
        if not self._context.doctype and not self._context.entities:
            columns = self._returns.columns(self._document, self._context.encoding, limit)
            if columns is not None:
                counts, starts, ends, lengths = (array("q", column) for column in columns[:-1])
                return FragmentColumns(counts, starts, ends, lengths, columns[-1])
        return columns_of(self[:limit])

    def __len__(self) -> int:
        return len(self._returns)

    def _fragment(self, number: int) -> Fragment:
        ranges, namespaces = self._returns.fragment(number)
        return Fragment(
            KIND,
            tuple(Span(*each) for each in ranges),
            tuple(bytes(self._document[start:end]) for start, end, _ in ranges),
            tuple(namespaces),
            self._context,
        )


def columns_of(
    fragments: Sequence[Fragment], texts: Sequence[str] | None = None
) -> FragmentColumns:
    """Any fragments as columns; ``texts`` is their XML, if it is known already."""
    spans = [span for fragment in fragments for span in fragment.spans]
    if texts is None:
        texts = [fragment.to_xml() for fragment in fragments]
    xml = [text.encode() for text in texts]
    return FragmentColumns(
        array("q", (len(fragment.spans) for fragment in fragments)),
        array("q", (span.start for span in spans)),
        array("q", (span.end for span in spans)),
        array("q", map(len, xml)),
        b"".join(xml),
    )
