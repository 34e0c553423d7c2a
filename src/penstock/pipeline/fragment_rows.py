"""Collects the fragments of matches, and converts them to an Arrow array. Independent of Spark."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import Any, Final

import pyarrow as pa

from penstock.documents import Fragment
from penstock.matching.path_returns import KIND, FragmentColumns, PathReturns, columns_of
from penstock.workspace.limits import DELIVERY_FRAGMENT_BYTES_MAX
from penstock.workspace.table_schemas import FRAGMENTS, MORE_FRAGMENTS, SPAN

SPAN_BYTES: Final = 16
FRAGMENT_BYTES: Final = 32
"""Bytes of a fragment besides its XML and its spans, approximately."""

ARRAY_BYTES_MAX: Final = 1 << 30
"""Bytes of all fragments of an array, whose offsets have 31 bits."""


class FragmentRows:
    """The fragments of matches that are added in ascending order; null for all others."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes of all fragments: of their XML, their spans and for each fragment."""
        self._matches: list[int] = []
        """The matches that have fragments, and the number of fragments of each."""
        self._counts: list[int] = []
        # One entry per fragment.
        self._kinds: list[str] = []
        self._span_counts = array("q")
        self._xml_lengths = array("q")
        self._xml = bytearray()
        # One entry per span.
        self._starts = array("q")
        self._ends = array("q")

    def add(
        self,
        match: int,
        fragments: Sequence[Fragment],
        limit: int,
        *,
        omitted_before: int = 0,
        xml: Sequence[str] | None = None,
        size_max: int = ARRAY_BYTES_MAX,
    ) -> int:
        """Add the first fragments of a match; past a limit, one that states how many are omitted.

        The limits are ``limit`` fragments and :data:`DELIVERY_FRAGMENT_BYTES_MAX` bytes. If a
        fragment cannot be converted to XML, or if :attr:`size` would exceed ``size_max`` or
        :data:`ARRAY_BYTES_MAX`, nothing is added. ``omitted_before`` fragments were omitted by the
        caller. ``xml`` is the XML of all fragments, if they are converted already.

        Returns
        -------
        The number of omitted fragments.
        """
        assert not self._matches or match > self._matches[-1], "matches are added in order"
        if xml is None and isinstance(fragments, PathReturns):
            columns = fragments.columns(limit)
            kinds: list[str] = [KIND] * len(columns.xml_lengths)
        else:
            if xml is None:
                first, texts = _converted(fragments, limit)
            else:
                first, texts = list(fragments[:limit]), list(xml[:limit])
            columns = columns_of(first, texts)
            kinds = [fragment.kind for fragment in first]
        count, size = _fitting(columns)
        spans = sum(columns.span_counts[:count])
        omitted = len(fragments) - count + omitted_before
        note = f"<!-- {omitted} more -->".encode() if omitted else b""
        size_after = self.size + size + len(note)
        size_after += SPAN_BYTES * spans + FRAGMENT_BYTES * (count + bool(omitted))
        if size_after > min(size_max, ARRAY_BYTES_MAX):
            return 0
        self.size = size_after
        self._matches.append(match)
        self._counts.append(count)
        self._kinds += kinds[:count]
        self._span_counts += columns.span_counts[:count]
        self._starts += columns.starts[:spans]
        self._ends += columns.ends[:spans]
        self._xml_lengths += columns.xml_lengths[:count]
        self._xml += memoryview(columns.xml)[:size]
        if omitted:
            self._counts[-1] += 1
            self._kinds.append(MORE_FRAGMENTS)
            self._span_counts.append(0)
            self._xml_lengths.append(len(note))
            self._xml += note
        return omitted

    def array(self, length: int) -> pa.Array[Any]:
        """The fragments of the first ``length`` matches."""
        starts: list[int | None] = [None] * length
        start = 0
        for match, count in zip(self._matches, self._counts, strict=True):
            starts[match] = start
            start += count
        spans = _structs(SPAN, [_int64_array(self._starts), _int64_array(self._ends)])
        fragment = FRAGMENTS.value_type
        span_lists = pa.Array.from_buffers(
            fragment.field("spans").type,
            len(self._kinds),
            [None, _offsets(self._span_counts)],
            children=[spans],
        )
        xml = pa.Array.from_buffers(
            pa.string(),
            len(self._kinds),
            [None, _offsets(self._xml_lengths), pa.py_buffer(self._xml)],
        )
        fragments = _structs(fragment, [pa.array(self._kinds, pa.string()), span_lists, xml])
        offsets = pa.array([*starts, start], pa.int32())
        return pa.ListArray.from_arrays(offsets, fragments, type=FRAGMENTS)


def _converted(fragments: Sequence[Fragment], limit: int) -> tuple[list[Fragment], list[str]]:
    """The first fragments and their XML, up to the one that exceeds the bytes of a delivery."""
    first: list[Fragment] = []
    texts: list[str] = []
    left = DELIVERY_FRAGMENT_BYTES_MAX
    for fragment in islice(fragments, limit):  # each may be created when it is requested
        first.append(fragment)
        texts.append(fragment.to_xml())
        left -= len(texts[-1])
        if left < 0:
            break
    return first, texts


def _fitting(columns: FragmentColumns) -> tuple[int, int]:
    """The number of fragments, at least one, that fit into the bytes of a delivery; their size."""
    if len(columns.xml) <= DELIVERY_FRAGMENT_BYTES_MAX:
        return len(columns.xml_lengths), len(columns.xml)
    ends = list(accumulate(columns.xml_lengths))
    count = max(1, bisect_right(ends, DELIVERY_FRAGMENT_BYTES_MAX))
    return count, ends[count - 1]


def _int64_array(numbers: array[int]) -> pa.Array[Any]:
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _offsets(lengths: array[int]) -> pa.Buffer:
    return pa.py_buffer(array("i", accumulate(lengths, initial=0)))


def _structs(type_: pa.DataType, columns: list[Any]) -> pa.StructArray:
    fields = [type_.field(number) for number in range(type_.num_fields)]
    return pa.StructArray.from_arrays(columns, fields=fields)
