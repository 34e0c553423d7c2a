"""The receiver's side of annotations that are derived from label paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.documents import Header
from penstock.routing.absent_names import AbsentNameFilter
from penstock.routing.annotation_kinds import AnnotationKind
from penstock.routing.annotations import Parts
from penstock.routing.bindings import BindingFilter
from penstock.routing.last_offsets import AnnouncedUnder, PrefixStops, decode_last_offsets
from penstock.routing.patterns import Pattern
from penstock.routing.sent_annotations import divided
from penstock.routing.skeleton import SkeletonFilter
from penstock.routing.vocabulary import Vocabulary


class DataFilters:
    """Decides targets by what a neighbour states about a document's label paths.

    Parameters
    ----------
    announced
        The patterns that are announced to the neighbour, in the order of their digests.
    rows
        The patterns of targets by number, each with the announced pattern that contains it.
    """

    def __init__(self, announced: Sequence[Pattern], rows: Mapping[int, AnnouncedUnder]) -> None:
        patterns = {row: each.pattern for row, each in rows.items()}
        vocabulary = Vocabulary(announced)
        self._count = len(announced)
        self._absent_names = AbsentNameFilter(vocabulary, patterns)
        self._skeletons = SkeletonFilter(vocabulary, patterns)
        self._bindings = BindingFilter(vocabulary, announced, rows)
        self._stops = PrefixStops(rows)

    def decide(
        self, parts: Parts, undecided: set[int], header: Header
    ) -> tuple[set[int], set[AnnotationKind]]:
        """Removes targets from ``undecided``; returns those that match, and the kinds in use.

        Raises
        ------
        ValueError
            An annotation is malformed.
        """
        matched: set[int] = set()
        used: set[AnnotationKind] = set()
        if AnnotationKind.NEGATIVE_DATA in parts:
            excluded = self._absent_names.excluded(parts[AnnotationKind.NEGATIVE_DATA])
            _settle(undecided, excluded.tolist(), AnnotationKind.NEGATIVE_DATA, used)
        if AnnotationKind.SKELETON in parts:
            decision = self._skeletons.decide(parts[AnnotationKind.SKELETON], header)
            matched |= undecided.intersection(decision.matched.tolist())
            decided = (*decision.matched.tolist(), *decision.unmatched.tolist())
            _settle(undecided, decided, AnnotationKind.SKELETON, used)
        if AnnotationKind.POSITIVE_SUBSCRIPTIONS in parts:
            _, bindings = divided(parts[AnnotationKind.POSITIVE_SUBSCRIPTIONS])
            proved = self._bindings.proved(bindings, undecided, header).tolist()
            matched.update(proved)
            _settle(undecided, proved, AnnotationKind.POSITIVE_SUBSCRIPTIONS, used)
        return matched, used

    def stop_at(self, parts: Parts, undecided: set[int]) -> int | None:
        """The offset at which reading may stop if these targets are undecided.

        Raises
        ------
        ValueError
            The annotation is malformed.
        """
        if AnnotationKind.POSITIVE_DATA not in parts:
            return None
        last_offsets = decode_last_offsets(parts[AnnotationKind.POSITIVE_DATA], self._count)
        return self._stops.stop_at(undecided, last_offsets)


def _settle(
    undecided: set[int], decided: Sequence[int], kind: AnnotationKind, used: set[AnnotationKind]
) -> None:
    before = len(undecided)
    undecided.difference_update(decided)
    if len(undecided) < before:
        used.add(kind)
