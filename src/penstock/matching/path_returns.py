"""The path returns of a keyword subscription in one document, created when they are requested."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from penstock.documents import Context, Fragment, Span
from penstock.matching.engine import Buffer

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


class PathReturns(Sequence[Fragment]):
    """Path returns, the best first.

    A document can have very many. The native core keeps them, so that writing them to a table does
    not create a Python object for each part of each fragment.
    """

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

    @overload
    def __getitem__(self, index: int) -> Fragment: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Fragment, ...]: ...

    def __getitem__(self, index: int | slice) -> Fragment | tuple[Fragment, ...]:
        numbers = range(len(self))[index]
        if isinstance(numbers, int):
            return self._fragment(numbers)
        return tuple(map(self._fragment, numbers))

    def __iter__(self) -> Iterator[Fragment]:
        return map(self._fragment, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[object, ...]:
        return (tuple, (tuple(self),))

    def _fragment(self, number: int) -> Fragment:
        ranges, namespaces = self._returns.fragment(number)
        return Fragment(
            KIND,
            tuple(Span(*each) for each in ranges),
            tuple(bytes(self._document[start:end]) for start, end, _ in ranges),
            tuple(namespaces),
            self._context,
        )


def columns_of(fragments: Sequence[Fragment]) -> FragmentColumns:
    """Any fragments as columns."""
    spans = [span for fragment in fragments for span in fragment.spans]
    xml = [fragment.to_xml().encode() for fragment in fragments]
    return FragmentColumns(
        array("q", (len(fragment.spans) for fragment in fragments)),
        array("q", (span.start for span in spans)),
        array("q", (span.end for span in spans)),
        array("q", map(len, xml)),
        b"".join(xml),
    )
