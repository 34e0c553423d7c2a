"""NDDR and IDDR in the native core."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from penstock.documents import Context, Fragment, Kind, Name, Span
from penstock.matching.engine import BatchOutcome, Buffer, Outcome
from penstock.matching.header_tests import NO_FIELDS, HeaderFields
from penstock.matching.lazy_fragments import LazyFragments
from penstock.matching.native_base import (
    INDEX_BYTES,
    BatchTuple,
    batch_outcome,
    context_of,
    document_error,
    native_header,
    outcome_of,
    summary_of,
)
from penstock.matching.native_keyword_engine import NativeKeywordMatcher
from penstock.matching.native_path_engine import NativeMatcher
from penstock.matching.results import ResolvedIds, Work
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.native_mapping import CompiledMappings
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import Mapping as NativeMapping
    from penstock._native import SelectedParts

Part: TypeAlias = tuple[
    Kind, tuple[str, str] | None, tuple[int, int, bool], Sequence[tuple[str, str]]
]
"""Kind of a fragment, attribute name, span, and namespaces in scope."""


class NativeRewriting:
    """Rewrites documents as a stream between the native reader and the native matcher.

    With ``memoize_repeated``, the matcher processes a subtree that the mapping repeats only once
    per path.
    """

    def __init__(
        self,
        paths: NativeMatcher,
        keywords: NativeKeywordMatcher | None = None,
        *,
        memoize_repeated: bool,
    ) -> None:
        self._paths = paths.core
        self._keywords = None if keywords is None else keywords.core
        self._mappings = CompiledMappings()
        self._memoize_repeated = memoize_repeated

    def match(
        self, document: Buffer, mapping: SchemaMapping, header: HeaderFields = NO_FIELDS
    ) -> Outcome:
        """Match a document in memory, in one reading with keyword subscriptions."""
        if self._keywords is not None:
            offsets = struct.pack("=2q", 0, len(memoryview(document)))
            (_, indices, ids, refusals, set_aside, counters), _ = native.match_batch_mapped(
                self._paths,
                self._keywords,
                document,
                offsets,
                [self._mappings.of(mapping)],
                [0],
                self._memoize_repeated,
                [native_header(header)],
            )
            error = document_error(refusals[0][1]) if refusals else None
            # The ids of matches come first; the others were set aside.
            matched = len(indices) // INDEX_BYTES
            assert len(ids) == matched + sum(len(indexes) for _, indexes in set_aside)
            return Outcome(ResolvedIds(ids[:matched]), Work(**counters), error, ids[matched:])
        return outcome_of(
            *native.match_mapped(
                self._paths,
                document,
                self._mappings.of(mapping),
                self._memoize_repeated,
                native_header(header),
            )
        )

    def match_batch(
        self,
        documents: pa.LargeBinaryArray,
        mappings: Sequence[SchemaMapping | None],
        headers: Sequence[HeaderFields] = (),
    ) -> BatchOutcome:
        """Match each document of an array without nulls, with its mapping if it has one.

        With keyword subscriptions, each document is still read once.
        """
        numbers: dict[int, int] = {}
        compiled: list[NativeMapping] = []
        rows: list[int | None] = []
        for mapping in mappings:
            if mapping is None:
                rows.append(None)
                continue
            if id(mapping) not in numbers:
                numbers[id(mapping)] = len(compiled)
                compiled.append(self._mappings.of(mapping))
            rows.append(numbers[id(mapping)])

        unknown: dict[int, int] = {}
        native_headers = [native_header(each) for each in headers]

        def match(content: memoryview, offsets: memoryview) -> BatchTuple:
            batch, of_rows = native.match_batch_mapped(
                self._paths,
                self._keywords,
                content,
                offsets,
                compiled,
                rows,
                self._memoize_repeated,
                native_headers,
            )
            unknown.update(of_rows)
            return batch

        return replace(batch_outcome(documents, match), unknown=unknown)

    def select(
        self, document: Buffer, mapping: SchemaMapping, subscriptions: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments of the original that these subscriptions select."""
        selected, summary, refusal = native.select_mapped(
            self._paths, document, self._mappings.of(mapping), list(subscriptions)
        )
        if refusal is not None:
            raise document_error(refusal)
        assert summary is not None, "neither a summary nor a refusal"
        context = context_of(document, summary_of(summary))
        return {
            name: _SelectedParts(document, context, parts)
            for name, parts in zip(subscriptions, selected, strict=True)
            if parts is not None
        }


class _SelectedParts(LazyFragments):
    """The parts of the original that a subscription selects, in document order."""

    def __init__(self, document: Buffer, context: Context, parts: SelectedParts) -> None:
        self._document = document
        self._context = context
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def _fragment(self, number: int) -> Fragment:
        return fragment_of(self._document, self._context, self._parts.part(number))


def fragment_of(document: Buffer, context: Context, part: Part) -> Fragment:
    """Converts a fragment of the native core."""
    kind, name, span, namespaces = part
    start, end, _ = span
    return Fragment(
        kind,
        (Span(*span),),
        (bytes(document[start:end]),),
        tuple(namespaces),
        context,
        None if name is None else Name(*name),
    )
