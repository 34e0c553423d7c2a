"""Collects the fragments of matches, and converts them to an Arrow array. Independent of Spark."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

import pyarrow as pa

from penstock.documents import Fragment
from penstock.matching.path_returns import KIND, PathReturns, columns_of
from penstock.workspace.limits import DELIVERY_FRAGMENT_BYTES_MAX
from penstock.workspace.table_schemas import FRAGMENTS, MORE_FRAGMENTS, SPAN

UTF8_BYTES_MAX: Final = 4
"""Bytes of a character in UTF-8."""


class FragmentRows:
    """The fragments of matches that are added in ascending order; null for all others."""

    def __init__(self) -> None:
        self._matches: list[int] = []
        """The matches that have fragments, and the number of fragments of each."""
        self._counts: list[int] = []
        # One entry per fragment.
        self._kinds: list[str] = []
        self._span_counts: list[int] = []
        self._xml: list[str] = []
        # One entry per span.
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, match: int, fragments: Sequence[Fragment], limit: int) -> int:
        """Add the first fragments of a match; past a limit, one that states how many are omitted.

        The limits are ``limit`` fragments and :data:`DELIVERY_FRAGMENT_BYTES_MAX` bytes. If a
        fragment cannot be converted to XML, nothing is added.

        Returns
        -------
        The number of omitted fragments.
        """
        assert not self._matches or match > self._matches[-1], "matches are added in order"
        if isinstance(fragments, PathReturns):
            columns = fragments.columns(limit)
            kinds: list[str] = [KIND] * len(columns.xml)
        else:
            columns = columns_of(fragments[:limit])
            kinds = [fragment.kind for fragment in fragments[:limit]]
        count = _fitting(columns.xml)
        if count < len(kinds):
            spans = sum(columns.span_counts[:count])
            columns = columns._replace(
                span_counts=columns.span_counts[:count],
                starts=columns.starts[:spans],
                ends=columns.ends[:spans],
                xml=columns.xml[:count],
            )
            kinds = kinds[:count]
        self._matches.append(match)
        self._counts.append(len(kinds))
        self._kinds += kinds
        self._span_counts += columns.span_counts
        self._starts += columns.starts
        self._ends += columns.ends
        self._xml += columns.xml
        omitted = len(fragments) - len(kinds)
        if omitted:
            self._counts[-1] += 1
            self._kinds.append(MORE_FRAGMENTS)
            self._span_counts.append(0)
            self._xml.append(f"<!-- {omitted} more -->")
        return omitted

    def array(self, length: int) -> pa.Array[Any]:
        """The fragments of the first ``length`` matches."""
        starts: list[int | None] = [None] * length
        start = 0
        for match, count in zip(self._matches, self._counts, strict=True):
            starts[match] = start
            start += count
        spans = _structs(
            SPAN, [pa.array(self._starts, pa.int64()), pa.array(self._ends, pa.int64())]
        )
        fragment = FRAGMENTS.value_type
        span_lists = pa.ListArray.from_arrays(
            pa.array(accumulate(self._span_counts, initial=0), pa.int32()),
            spans,
            type=fragment.field("spans").type,
        )
        fragments = _structs(
            fragment,
            [pa.array(self._kinds, pa.string()), span_lists, pa.array(self._xml, pa.string())],
        )
        offsets = pa.array([*starts, start], pa.int32())
        return pa.ListArray.from_arrays(offsets, fragments, type=FRAGMENTS)


def _fitting(xml: Sequence[str]) -> int:
    """The number of fragments, at least one, that fit into the bytes of a delivery."""
    if sum(map(len, xml)) * UTF8_BYTES_MAX <= DELIVERY_FRAGMENT_BYTES_MAX:
        return len(xml)
    ends = list(accumulate(len(each.encode()) for each in xml))
    return max(1, bisect_right(ends, DELIVERY_FRAGMENT_BYTES_MAX)) if ends else 0


def _structs(type_: pa.DataType, columns: list[Any]) -> pa.StructArray:
    fields = [type_.field(number) for number in range(type_.num_fields)]
    return pa.StructArray.from_arrays(columns, fields=fields)
