"""Decides where a document goes: by a neighbour's annotations, or by reading it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from penstock.documents import Document
from penstock.mediation import Mapping as SchemaMapping
from penstock.native import native
from penstock.routing.annotation_decision import (
    AnnotatedDecision,
    AnnotatedDocument,
    AnnotationDecider,
)
from penstock.routing.annotation_kinds import NO_KINDS, AnnotationOptions
from penstock.routing.interest_announcer import InterestAnnouncer
from penstock.routing.interest_index import InterestIndex, Targets
from penstock.routing.neighbour_router import NeighbourRouter
from penstock.routing.router_outputs import NeighbourDistrusted, RouterOutput, SendMessage
from penstock.routing.router_state import RouterCounters

MALFORMED_CODES: Final = ("xml.", "encoding.")
"""How codes of documents begin that no router can read to their end."""


class RoutingDecider:
    """Uses and verifies annotations, and reads the documents that they do not decide.

    Parameters
    ----------
    neighbours
        The neighbours by name: a view of the current ones.
    announcer
        Observes the documents that are read.
    chance
        Selects the documents whose annotations are verified.
    cpu_time
        The CPU time that was used so far, in nanoseconds.
    """

    def __init__(
        self,
        *,
        index: InterestIndex,
        neighbours: Mapping[str, NeighbourRouter],
        announcer: InterestAnnouncer,
        counts: RouterCounters,
        options: AnnotationOptions,
        chance: random.Random,
        cpu_time: Callable[[], int],
    ) -> None:
        self._index = index
        self._neighbours = neighbours
        self._announcer = announcer
        self._counts = counts
        self._chance = chance
        self._cpu_time = cpu_time
        self._annotations = AnnotationDecider(index, cpu_time, is_adaptive=options.is_adaptive)
        self.use(options)

    def use(self, options: AnnotationOptions) -> None:
        """From now on, use and verify other annotations."""
        self._options = options
        self._annotations.is_adaptive = options.is_adaptive
        self.decides_unread = options.uses_received and not options.verified_share
        """Whether documents that a match list decides are never read."""

    def read(
        self, document: Document, mapping: SchemaMapping | None, source: NeighbourRouter | None
    ) -> Targets:
        """Where a document goes, but not to where it came from, by reading it."""
        targets = self._match(document, mapping, source)
        if targets.refusal is None:
            self._announcer.observe(document, mapping)
        return targets

    def decide(
        self,
        annotated: AnnotatedDocument,
        source: NeighbourRouter,
        outputs: list[RouterOutput],
    ) -> Targets:
        """Where a document with annotations goes, but not to where it came from.

        It is read at most once, and not at all if annotations decide where it goes.

        Parameters
        ----------
        annotated
            The document and its annotations.
        source
            The neighbour that sent it.
        outputs
            Gets what there is to report to the source and of it.
        """
        document, mapping = annotated.document, annotated.mapping
        decision = self._by_annotations(annotated, source)
        outputs += self._report_gain(document, source, decision)
        if decision is None:
            begin = self._cpu_time()
            targets = self._match(document, mapping, source)
            source.received_gain.took(reading=self._cpu_time() - begin)
            if targets.refusal is None:
                self._announcer.observe(document, mapping)
            return targets
        if self._is_verified():
            targets = self._match(document, mapping, source)
            outputs += self._compare(document, source, decision.targets, targets)
            return targets
        if decision.bytes_read:
            self._counts.read_in_part += 1
        else:
            self._counts.not_read += 1
        return decision.targets

    def _by_annotations(
        self, annotated: AnnotatedDocument, source: NeighbourRouter
    ) -> AnnotatedDecision | None:
        """Where annotations send a document; ``None`` if it must be read."""
        if not (self._options.uses_received and source.is_trusted):
            return None
        try:
            return self._annotations.decide(annotated, source)
        except ValueError:
            self._counts.ignored_annotations += 1
            return None

    def _match(
        self, document: Document, mapping: SchemaMapping | None, source: NeighbourRouter | None
    ) -> Targets:
        """Collects the label paths of the document too if annotations need them."""
        others = (each for each in self._neighbours.values() if each is not source)
        label_paths = native is not None and any(
            each.is_authenticated and each.annotator.uses_label_paths for each in others
        )
        name = None if source is None else source.name
        return self._index.match(document, mapping, name, label_paths=label_paths)

    def _report_gain(
        self, document: Document, source: NeighbourRouter, decision: AnnotatedDecision | None
    ) -> Iterable[SendMessage]:
        size = len(document.content)
        if decision is None:
            report = source.received_gain.add(NO_KINDS, size, 0)
        else:
            read = decision.bytes_read
            report = source.received_gain.add(decision.kinds, read, size - read)
        if report is None or not source.is_up:
            return ()
        return (SendMessage(neighbour=source.name, message=report),)

    def _is_verified(self) -> bool:
        share = self._options.verified_share
        return share > 0 and self._chance.random() < share

    def _compare(
        self, document: Document, source: NeighbourRouter, decided: Targets, read: Targets
    ) -> Iterable[NeighbourDistrusted]:
        """Distrusts the neighbour if reading contradicts its annotations."""
        self._counts.verified_annotations += 1
        if not _is_conclusive(read) or read._replace(label_paths=None) == decided:
            return ()
        source.distrust()
        distrusted = NeighbourDistrusted(
            neighbour=source.name,
            document=document,
            code="routing.annotations",
            message=f"the annotations of `{source.name}` contradict the document",
        )
        return (distrusted,)


def _is_conclusive(read: Targets) -> bool:
    """Whether reading a document can contradict annotations.

    Another router does not set aside the same queries, neither local ones nor those of neighbours,
    and does not exceed the same limits. So only a malformed document proves that its refusal is the
    fault of who attested it.
    """
    if read.refusal is not None:
        return read.refusal.code.startswith(MALFORMED_CODES)
    return read.is_exact
