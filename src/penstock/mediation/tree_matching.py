"""Matching on written trees: the global document as bytes, for an engine that knows no mappings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import pyarrow as pa

from penstock.documents import Fragment, Kind, Limits, Span
from penstock.errors import DocumentError
from penstock.matching.engine import BatchOutcome, Buffer, EngineMatcher, Outcome
from penstock.matching.reference.reference_base import batch_of
from penstock.matching.results import Explanation, ResolvedIds, Work
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.provenance import Origin

Origins: TypeAlias = Mapping[tuple[Kind, Span], Origin]
"""What each node of a tree stands for, by its kind and place in the tree as it is written."""


@dataclass(frozen=True, slots=True)
class Written:
    """A global document as it travels beside the original."""

    trees: tuple[bytes, ...]
    """XML in UTF-8; more than one where an Exchange at the root gives a forest."""
    work: Work
    """What it took; elements and bytes are the original's."""

    @property
    def size(self) -> int:
        """Bytes of all trees."""
        return sum(map(len, self.trees))


class PathMatcher(EngineMatcher, Protocol):
    """An engine of path subscriptions."""

    def reading_within(self, limits: Limits) -> PathMatcher:
        """The same, reading documents within other limits."""


_OF_SIZE = ("document_bytes", "attributes", "name_bytes", "value_bytes", "tag_bytes")
_ANY_SIZE = 1 << 62


class TreeMatching(ABC):
    """Matches each tree of the global document by itself, as it is written.

    The reader's limits are for documents as they are published. What is written of one may be
    larger; how deep it may be, and what may be copied, was bounded when it was made.
    """

    def __init__(self, paths: PathMatcher) -> None:
        self._paths = paths
        self._of_trees = paths.reading_within(
            replace(paths.limits, **dict.fromkeys(_OF_SIZE, _ANY_SIZE))
        )

    @abstractmethod
    def written(self, document: Buffer, mapping: SchemaMapping) -> Written:
        """The global document; raises the reason for which a document is refused."""

    @abstractmethod
    def _origins(self, document: Buffer, mapping: SchemaMapping) -> Iterator[tuple[bytes, Origins]]:
        """Each tree, and what its nodes stand for."""

    @abstractmethod
    def _cut(
        self, document: Buffer, wanted: Mapping[str, Sequence[Origin]]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What nodes stand for, cut out of the original."""

    def match(self, document: Buffer, mapping: SchemaMapping) -> Outcome:
        """Match a document that is in memory."""
        try:
            written = self.written(document, mapping)
        except DocumentError as reason:
            return Outcome(ResolvedIds(), error=reason)
        ids: dict[str, None] = {}
        for tree in written.trees:
            outcome = self._of_trees.match(tree)
            if outcome.error is not None:
                return Outcome(ResolvedIds(), error=outcome.error)
            ids |= dict.fromkeys(outcome.handles.ids())
        return Outcome(ResolvedIds(ids), written.work)

    def match_batch(
        self, documents: pa.LargeBinaryArray, mappings: Sequence[SchemaMapping | None]
    ) -> BatchOutcome:
        """Match each document of an array without nulls, each with its mapping or as it is."""

        def outcomes() -> Iterator[Outcome]:
            for row, mapping in zip(documents, mappings, strict=True):
                document = row.as_py()
                if mapping is None:
                    yield self._paths.match(document)
                else:
                    yield self.match(document, mapping)

        return batch_of(outcomes())

    def explain(
        self, document: Buffer, mapping: SchemaMapping, subscription: str
    ) -> Explanation | None:
        """Why the global document meets the subscription or does not; ``None`` if there is none."""
        try:
            written = self.written(document, mapping)
        except DocumentError as reason:
            found = self._paths.explain(document, subscription)
            return found and Explanation(subscription, found.query, error=reason)
        each = [self._of_trees.explain(tree, subscription) for tree in written.trees]
        # Several trees where the mapping turned the root round: a match in one will do.
        return next((found for found in each if found is not None and found.matched), each[0])

    def select(
        self, document: Buffer, mapping: SchemaMapping, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects, as parts of the original."""
        found: dict[str, list[Origin]] = {name: [] for name in subscriptions}
        for tree, origins in self._origins(document, mapping):
            for name, selected in self._of_trees.select(tree, subscriptions).items():
                for each in selected:
                    origin = origins[each.kind, each.spans[0]]
                    # An attribute that was not renamed is called in the original as it is here.
                    own_name = each.name if origin.name is None else origin.name
                    found[name].append(replace(origin, name=own_name))
        return self._cut(document, found)
