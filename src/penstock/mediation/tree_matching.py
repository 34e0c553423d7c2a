"""Matches serialised global documents with engines that are unaware of mappings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import pyarrow as pa

from penstock.documents import Fragment, Kind, Limits, Span
from penstock.errors import DocumentError
from penstock.matching.engine import BatchOutcome, Buffer, EngineMatcher, Outcome
from penstock.matching.header_tests import NO_FIELDS, HeaderFields
from penstock.matching.reference.reference_base import batch_of
from penstock.matching.results import Explanation, ResolvedIds, Work
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.provenance import Provenance

ProvenanceTable: TypeAlias = Mapping[tuple[Kind, Span], Provenance]
"""The provenance of each node, by kind and position in the serialised tree."""


@dataclass(frozen=True, slots=True)
class Written:
    """A serialised global document."""

    trees: tuple[bytes, ...]
    """XML in UTF-8; several trees after an Exchange at the root."""
    work: Work
    """Work counters; elements and bytes are those of the original."""

    @property
    def size(self) -> int:
        """Total bytes of all trees."""
        return sum(map(len, self.trees))


class PathMatcher(EngineMatcher, Protocol):
    """A matcher of XPath subscriptions."""

    def reading_within(self, limits: Limits) -> PathMatcher:
        """The same matcher with other reader limits."""


_OF_SIZE = ("document_bytes", "attributes", "name_bytes", "value_bytes", "tag_bytes")
_ANY_SIZE = 1 << 62


class TreeMatching(ABC):
    """Matches each serialised tree of the global document separately.

    The reader's limits apply to original documents. A serialised tree may be larger; its depth and
    copies were bounded when it was created.
    """

    def __init__(self, paths: PathMatcher) -> None:
        self._paths = paths
        self._of_trees = paths.reading_within(
            replace(paths.limits, **dict.fromkeys(_OF_SIZE, _ANY_SIZE))
        )

    @abstractmethod
    def written(self, document: Buffer, mapping: SchemaMapping) -> Written:
        """The global document; raises the error of a refused document."""

    @abstractmethod
    def _provenance(
        self, document: Buffer, mapping: SchemaMapping
    ) -> Iterator[tuple[bytes, ProvenanceTable]]:
        """Each tree with the provenance of its nodes."""

    @abstractmethod
    def _cut(
        self, document: Buffer, wanted: Mapping[str, Sequence[Provenance]]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """Cuts the fragments of nodes from the original."""

    def match(
        self, document: Buffer, mapping: SchemaMapping, header: HeaderFields = NO_FIELDS
    ) -> Outcome:
        """Match a document in memory."""
        try:
            written = self.written(document, mapping)
        except DocumentError as reason:
            return Outcome(ResolvedIds(), error=reason)
        ids: dict[str, None] = {}
        set_aside: dict[str, None] = {}
        for tree in written.trees:
            outcome = self._of_trees.match(tree, header)
            if outcome.error is not None:
                return Outcome(ResolvedIds(), error=outcome.error)
            ids |= dict.fromkeys(outcome.handles.ids())
            set_aside |= dict.fromkeys(outcome.set_aside)
        unknown = [name for name in set_aside if name not in ids]
        return Outcome(ResolvedIds(ids), written.work, set_aside=unknown)

    def match_batch(
        self,
        documents: pa.LargeBinaryArray,
        mappings: Sequence[SchemaMapping | None],
        headers: Sequence[HeaderFields] = (),
    ) -> BatchOutcome:
        """Match each document of an array without nulls, with its mapping if it has one."""

        def outcomes() -> Iterator[Outcome]:
            own = headers or [NO_FIELDS] * len(documents)
            for row, mapping, header in zip(documents, mappings, own, strict=True):
                document = row.as_py()
                if mapping is None:
                    yield self._paths.match(document, header)
                else:
                    yield self.match(document, mapping, header)

        return batch_of(outcomes())

    def explain(
        self, document: Buffer, mapping: SchemaMapping, subscription: str
    ) -> Explanation | None:
        """Explain why the global document matches or not; ``None`` for an unknown subscription."""
        try:
            written = self.written(document, mapping)
        except DocumentError as reason:
            found = self._paths.explain(document, subscription)
            return found and Explanation(subscription, found.query, error=reason)
        each = [self._of_trees.explain(tree, subscription) for tree in written.trees]
        # After an Exchange at the root there are several trees: a match in one suffices.
        return next((found for found in each if found is not None and found.matched), each[0])

    def select(
        self, document: Buffer, mapping: SchemaMapping, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """The fragments of the original that these subscriptions select."""
        found: dict[str, list[Provenance]] = {name: [] for name in subscriptions}
        for tree, provenance in self._provenance(document, mapping):
            for name, selected in self._of_trees.select(tree, subscriptions).items():
                for each in selected:
                    origin = provenance[each.kind, each.spans[0]]
                    # An attribute that was not renamed has its original name.
                    own_name = each.name if origin.name is None else origin.name
                    found[name].append(replace(origin, name=own_name))
        return self._cut(document, found)
