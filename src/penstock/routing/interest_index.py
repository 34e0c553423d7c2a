"""Matches a document against local subscriptions and all neighbours' patterns in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.documents import Document, Fragment, Limits
from penstock.errors import DocumentError
from penstock.language import TokenizerOptions
from penstock.matching.query_indexes import NumberedQuery, QueryIndexes
from penstock.mediation import Mapping as SchemaMapping
from penstock.mediation import MediatedMatcher


class LocalTarget(NamedTuple):
    """A subscription of this router."""

    id: str


class NeighbourTarget(NamedTuple):
    """A pattern of a neighbour's interest."""

    neighbour: str
    digest: bytes


Target: TypeAlias = LocalTarget | NeighbourTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where a document goes."""

    subscriptions: tuple[str, ...] = ()
    """Local subscriptions that match, in order of their ids."""

    neighbours: tuple[str, ...] = ()
    """Neighbours with a pattern that matches or was set aside, in order of their names."""

    set_aside: tuple[str, ...] = ()
    """Local subscriptions of which it is unknown whether they match."""

    refusal: DocumentError | None = None
    """Why the document is refused; then it goes nowhere."""


class InterestIndex:
    """The queries of local subscriptions and of neighbours, under common numbers."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._indexes = QueryIndexes(TokenizerOptions())
        self._targets: dict[str, Target] = {}
        self._numbers: dict[Target, int] = {}
        self._next = 0
        self._matcher: MediatedMatcher | None = None

    def add(self, queries: Mapping[Target, Callable[[int], NumberedQuery]]) -> None:
        """Add queries, all or none.

        Raises
        ------
        QueryError
            A query is invalid.
        """
        if not queries:
            return
        first = self._next
        self._next += len(queries)
        numbers = dict(enumerate(queries, start=first))
        refused = self._indexes.add(
            numbered(number) for number, numbered in enumerate(queries.values(), start=first)
        )
        self._matcher = None
        if refused:
            for number in numbers:
                self._indexes.discard(number)
            raise refused[min(refused)]
        self._numbers |= {target: number for number, target in numbers.items()}
        self._targets |= {str(number): target for number, target in numbers.items()}

    def discard(self, targets: Iterable[Target]) -> None:
        """Remove queries."""
        for target in targets:
            number = self._numbers.pop(target)
            del self._targets[str(number)]
            self._indexes.discard(number)
            self._matcher = None

    def match(self, document: Document, mapping: SchemaMapping | None) -> Targets:
        """Read a document once, and return where it goes.

        With a mapping, XPath queries refer to the rewritten document.
        """
        matches = self._snapshot().match(document, mapping)
        if matches.errors:
            return Targets(refusal=matches.errors[0])
        matched = [self._targets[number] for number in matches.ids]
        unknown = [self._targets[number] for number in matches.set_aside]
        # A document that a neighbour may want is forwarded: nothing is lost to the work budget.
        interested = {
            each.neighbour for each in matched + unknown if isinstance(each, NeighbourTarget)
        }
        return Targets(
            subscriptions=_local(matched),
            neighbours=tuple(sorted(interested)),
            set_aside=_local(unknown),
        )

    def select(
        self, document: Document, mapping: SchemaMapping | None, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments that local subscriptions select in a document that matched them.

        Omits subscriptions whose fragments cannot be computed within the limits.
        """
        numbers = {str(self._numbers[LocalTarget(id_)]): id_ for id_ in ids}
        try:
            selected = self._snapshot().select(document, mapping, list(numbers))
        except DocumentError:  # computing fragments can exceed limits that matching does not
            return {}
        return {numbers[number]: fragments for number, fragments in selected.items()}

    def _snapshot(self) -> MediatedMatcher:
        if self._matcher is None:
            self._matcher = MediatedMatcher(self._indexes.matcher(self._limits))
        return self._matcher


def _local(targets: Iterable[Target]) -> tuple[str, ...]:
    return tuple(sorted(each.id for each in targets if isinstance(each, LocalTarget)))
