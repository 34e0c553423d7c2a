"""Decides where a document goes by annotations, if possible without reading all of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from penstock.documents import Document
from penstock.native import native
from penstock.routing.annotation_kinds import AnnotationKind
from penstock.routing.annotations import Parts
from penstock.routing.interest_index import InterestIndex, LocalTarget, Target, Targets
from penstock.routing.last_offsets import AnnouncedUnder
from penstock.routing.member_names import member_of
from penstock.routing.patterns import UNIVERSAL
from penstock.routing.received_annotations import DataFilters
from penstock.routing.sent_annotations import divided
from penstock.routing.stored_interest import Announcement

_MATCH_LIST_ALONE: Final = frozenset({AnnotationKind.MATCH_LIST})


@dataclass(frozen=True, slots=True)
class AnnotatedDecision:
    """Where annotations send a document."""

    targets: Targets
    kinds: frozenset[AnnotationKind]
    """The kinds that decided together."""

    bytes_read: int = 0
    """How much of the document was read."""


class AnnotationDecider:
    """Decides documents by the annotations of neighbours.

    Parameters
    ----------
    index
        The targets of the router.
    """

    def __init__(self, index: InterestIndex) -> None:
        self._index = index
        self._filters: dict[tuple[str, bool], DataFilters] = {}
        self._version = index.version

    def decide(
        self, parts: Parts, document: Document, source: str, announced: Announcement
    ) -> AnnotatedDecision | None:
        """Where a document goes; ``None`` if it must be read to its end.

        Parameters
        ----------
        parts
            The annotations by kind. Of a document that is matched under a mapping, only those that
            name patterns: its label paths are not those that queries refer to.
        document
            The document.
        source
            The neighbour that sent it.
        announced
            What is announced to that neighbour.

        Raises
        ------
        ValueError
            An annotation is malformed.
        """
        match_list = parts.get(AnnotationKind.MATCH_LIST)
        container_of = partial(_container, announced)
        if match_list is not None:
            targets = self._index.decide(match_list, source, container_of)
            if targets is not None:
                return AnnotatedDecision(targets, _MATCH_LIST_ALONE)
        if len(parts) == (match_list is not None):
            return None
        matched, undecided, used = set[int](), set[int](), set[AnnotationKind]()
        for kind, encoded in _lists(parts).items():
            split = self._index.split(encoded, source, container_of)
            if split is None:
                return None
            used.add(kind)
            proved, open_ = split
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
        return self._by_data(parts, document, (source, announced), _Known(matched, undecided, used))

    def _by_data(
        self,
        parts: Parts,
        document: Document,
        neighbour: tuple[str, Announcement],
        known: _Known,
    ) -> AnnotatedDecision | None:
        """Decides what lists of patterns leave undecided."""
        source, announced = neighbour
        filters = None
        if known.undecided:
            filters = self._filters_for(source, announced, AnnotationKind.MATCH_LIST in parts)
        if filters is not None:
            proved, used = filters.decide(parts, known.undecided, document.header)
            known.matched |= proved
            known.used |= used
        bytes_read = 0
        if known.undecided:
            stop_at = filters.stop_at(parts, known.undecided) if filters is not None else None
            if stop_at is None or stop_at >= len(document.content):
                return None
            read = self._index.match_prefix(document, stop_at)
            if read is None:
                return None
            numbers, bytes_read = read
            known.matched |= known.undecided & numbers
            known.used.add(AnnotationKind.POSITIVE_DATA)
        targets = self._index.routes_of(known.matched, source)
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
            if native is None or not index.can_prepare(len(open_)):
                return None
            self._filters[key] = _filters(open_, announced)
        return self._filters[key]


@dataclass(slots=True)
class _Known:
    """What is known of the targets, by number."""

    matched: set[int]
    undecided: set[int]
    used: set[AnnotationKind]


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


def _container(announced: Announcement, target: Target) -> bytes:
    """The digest of the announced pattern that contains the pattern of a target."""
    return announced.pattern_for(member_of(target)).digest
