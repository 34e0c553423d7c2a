"""Decides where a document goes by annotations, if possible without reading all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from penstock.documents import Document
from penstock.mediation import Mapping as SchemaMapping
from penstock.native import native
from penstock.routing.annotation_header import match_list_of
from penstock.routing.annotation_kinds import MATCH_LIST_ALONE, AnnotationKind
from penstock.routing.annotations import DocumentAnnotations, Parts
from penstock.routing.interest_index import InterestIndex, LocalTarget, Target, Targets
from penstock.routing.last_offsets import AnnouncedUnder
from penstock.routing.member_names import member_of
from penstock.routing.neighbour_annotator import prepared_patterns
from penstock.routing.neighbour_router import NeighbourRouter
from penstock.routing.patterns import UNIVERSAL
from penstock.routing.received_annotations import DataFilters
from penstock.routing.routes import Container
from penstock.routing.sent_annotations import DATA_KINDS, divided
from penstock.routing.stored_interest import Announcement


class AnnotatedDecision(NamedTuple):
    """Where annotations send a document."""

    targets: Targets
    kinds: frozenset[AnnotationKind]
    """The kinds that decided together."""

    bytes_read: int = 0
    """How much of the document was read."""


class AnnotatedDocument(NamedTuple):
    """A document with the annotations that a neighbour sent."""

    document: Document
    header: bytes
    """The annotations, encoded."""

    headers: DocumentAnnotations
    """Checks them."""

    mapping: SchemaMapping | None
    """The mapping under which the document is matched."""


class AnnotationDecider:
    """Decides documents by the annotations of neighbours.

    Parameters
    ----------
    index
        The targets of the router.
    cpu_time
        The CPU time that was used so far, in nanoseconds.
    is_adaptive
        Whether neighbours choose kinds by what they save; then filters are prepared more rarely.
    """

    def __init__(
        self, index: InterestIndex, cpu_time: Callable[[], int], *, is_adaptive: bool
    ) -> None:
        self._index = index
        self._cpu_time = cpu_time
        self.is_adaptive = is_adaptive
        self._filters: dict[tuple[str, bool], DataFilters] = {}
        self._version = index.version

    def decide(
        self, annotated: AnnotatedDocument, source: NeighbourRouter
    ) -> AnnotatedDecision | None:
        """Where a document goes; ``None`` if it must be read to its end.

        Parameters
        ----------
        annotated
            The document and its annotations.
        source
            The neighbour that sent it.

        Raises
        ------
        ValueError
            The annotations do not apply, or one of them is malformed.
        """
        # The match list alone decides most documents.
        decision = self._by_match_list(annotated, source)
        if decision is not None:
            return decision
        begin = self._cpu_time()
        parts = annotated.headers.decode(annotated.header, source.announced_digest)
        if _lists(parts) and self._index.must_be_prepared(source.name):
            if not self._index.prepare(source.name, partial(_container, source.announced)):
                return None
            decision = self._by_match_list(annotated, source)
            if decision is not None:
                return decision
        if annotated.mapping is not None:
            # Label paths are those of the original, and queries refer to the rewritten document.
            parts = {kind: part for kind, part in parts.items() if kind not in DATA_KINDS}
        if parts.keys() <= MATCH_LIST_ALONE:
            return None
        known = self._known_by_lists(parts, source.name)
        decision = self._by_data(parts, annotated.document, source, known)
        deciding = self._cpu_time() - begin - known.reading
        kinds = parts.keys() - MATCH_LIST_ALONE
        source.received_gain.took(reading=known.reading, deciding=deciding, kinds=kinds)
        return decision

    def _by_match_list(
        self, annotated: AnnotatedDocument, source: NeighbourRouter
    ) -> AnnotatedDecision | None:
        """Where a document goes if the match list alone decides it."""
        decided = self._index.decide(
            source.group, annotated.header, annotated.headers.attested, source.announced_digest
        )
        if decided is None:
            return None
        subscriptions, forwards = decided
        names = self._index.names
        lists = tuple((names[group], match_list_of(each)) for group, each in forwards)
        return AnnotatedDecision(Targets(subscriptions, lists), MATCH_LIST_ALONE)

    def _known_by_lists(self, parts: Parts, source: str) -> _Known:
        """What lists of patterns decide."""
        matched, undecided, used = set[int](), set[int](), set[AnnotationKind]()
        for kind, encoded in _lists(parts).items():
            proved, open_ = self._index.split(encoded, source)
            used.add(kind)
            match kind:
                case AnnotationKind.MATCH_LIST:
                    matched, undecided = proved, open_
                case AnnotationKind.NEGATIVE_SUBSCRIPTIONS:
                    undecided = proved | open_
                case _:
                    matched = proved
        if not used & {AnnotationKind.MATCH_LIST, AnnotationKind.NEGATIVE_SUBSCRIPTIONS}:
            undecided = set(self._index.targets_outside(source))
        undecided -= matched
        return _Known(matched, undecided, used)

    def _by_data(
        self,
        parts: Parts,
        document: Document,
        source: NeighbourRouter,
        known: _Known,
    ) -> AnnotatedDecision | None:
        """Decides what lists of patterns leave undecided."""
        filters = None
        if known.undecided:
            has_match_list = AnnotationKind.MATCH_LIST in parts
            filters = self._filters_for(source.name, source.announced, has_match_list)
        if filters is not None:
            proved, used = filters.decide(parts, known.undecided, document.header)
            known.matched |= proved
            known.used |= used
        bytes_read = 0
        if known.undecided:
            stop_at = filters.stop_at(parts, known.undecided) if filters is not None else None
            if stop_at is None or stop_at >= len(document.content):
                return None
            begin = self._cpu_time()
            read = self._index.match_prefix(document, stop_at)
            known.reading = self._cpu_time() - begin
            if read is None:
                return None
            numbers, bytes_read = read
            known.matched |= known.undecided & numbers
            known.used.add(AnnotationKind.POSITIVE_DATA)
        targets = self._index.routes_of(known.matched, source.name)
        return AnnotatedDecision(targets, frozenset(known.used), bytes_read)

    def _filters_for(
        self, source: str, announced: Announcement, has_match_list: bool
    ) -> DataFilters | None:
        """The filters of a neighbour; ``None`` while it does not pay to make them.

        With a match list, only targets whose own pattern is not announced can be undecided.
        """
        if self._version != self._index.version:
            self._filters.clear()
            self._version = self._index.version
        key = source, has_match_list
        if key not in self._filters:
            index = self._index
            open_ = index.unannounced(source) if has_match_list else index.targets_outside(source)
            prepared = prepared_patterns(index.documents_since_change, is_adaptive=self.is_adaptive)
            if native is None or len(open_) > prepared:
                return None
            self._filters[key] = _filters(open_, announced)
        return self._filters[key]


@dataclass(slots=True)
class _Known:
    """What is known of the targets, by number."""

    matched: set[int]
    undecided: set[int]
    used: set[AnnotationKind]
    reading: int = 0
    """CPU time of reading a part of the document, in nanoseconds."""


def _lists(parts: Parts) -> dict[AnnotationKind, bytes]:
    """The lists of patterns among annotations; a match list makes the others redundant."""
    if AnnotationKind.MATCH_LIST in parts:
        return {AnnotationKind.MATCH_LIST: parts[AnnotationKind.MATCH_LIST]}
    lists: dict[AnnotationKind, bytes] = {}
    if AnnotationKind.NEGATIVE_SUBSCRIPTIONS in parts:
        kind = AnnotationKind.NEGATIVE_SUBSCRIPTIONS
        lists[kind] = parts[kind]
    if AnnotationKind.POSITIVE_SUBSCRIPTIONS in parts:
        kind = AnnotationKind.POSITIVE_SUBSCRIPTIONS
        lists[kind], _ = divided(parts[kind])
    return lists


def _filters(targets: dict[int, Target], announced: Announcement) -> DataFilters:
    patterns = announced.patterns
    ranks = {pattern.digest: rank for rank, pattern in enumerate(patterns)}
    rows: dict[int, AnnouncedUnder] = {}
    for number, target in targets.items():
        member = member_of(target)
        pattern = announced.member_pattern(member)
        # A query that is too long to be announced is announced as everything: never decided here.
        if not (isinstance(target, LocalTarget) and pattern is UNIVERSAL):
            container = announced.pattern_for(member)
            rows[number] = AnnouncedUnder(ranks[container.digest], container, pattern)
    return DataFilters(patterns, rows)


def _container(announced: Announcement, target: Target) -> Container:
    """The announced pattern that contains the pattern of a target."""
    member = member_of(target)
    container, pattern = announced.pattern_for(member), announced.member_pattern(member)
    # A query that is too long to be announced is announced as everything, which decides nothing.
    is_exact = not (isinstance(target, LocalTarget) and pattern is UNIVERSAL)
    return Container(container.digest, is_exact and pattern.contains(container))
