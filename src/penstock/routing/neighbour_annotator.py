"""Annotates the documents that are forwarded to one neighbour."""

from __future__ import annotations

from collections.abc import Callable

from penstock.matching.label_paths import LabelPaths
from penstock.routing.aggregate_delta import AggregateReplica
from penstock.routing.annotation_gain import AnnotationGain
from penstock.routing.annotation_header import LIST_HEADER_BYTES
from penstock.routing.annotation_kinds import (
    MATCH_LIST_ALONE,
    AnnotationKind,
    AnnotationOptions,
)
from penstock.routing.annotations import DocumentAnnotations
from penstock.routing.limits import (
    PREPARED_PATTERNS_FREE,
    PREPARED_PATTERNS_PER_DOCUMENT,
    PREPARED_TARGETS_PER_DOCUMENT,
)
from penstock.routing.sent_annotations import DATA_KINDS, AnnotationMaker, possible_list


class NeighbourAnnotator:
    """States about documents what saves a neighbour more than it costs.

    Parameters
    ----------
    interest
        The neighbour's interest, to which annotations refer.
    options
        Which annotations are sent.
    cpu_time
        The CPU time that was used so far, in nanoseconds.
    """

    def __init__(
        self,
        interest: AggregateReplica,
        options: AnnotationOptions,
        cpu_time: Callable[[], int],
    ) -> None:
        self._cpu_time = cpu_time
        self.use(options)
        self.replace_interest(interest)

    def use(self, options: AnnotationOptions) -> None:
        """From now on, make other annotations."""
        self._is_adaptive = options.is_adaptive
        self.gain = AnnotationGain(options)
        """Decides which kinds the neighbour gets."""

    def replace_interest(self, interest: AggregateReplica) -> None:
        """From now on, annotations refer to another interest."""
        self._interest = interest
        self._interest_digest = bytes.fromhex(interest.digest)
        self._maker: AnnotationMaker | None = None
        self._documents_since_change = 0

    @property
    def uses_label_paths(self) -> bool:
        """Whether annotations are derived from the label paths of documents."""
        return not DATA_KINDS.isdisjoint(self.gain.kinds)

    def sent_list(self, header_bytes: int) -> None:
        """Counts a document that is sent with a match list alone, as most are."""
        self._documents_since_change += 1
        self.gain.sent_match_list(header_bytes - LIST_HEADER_BYTES)

    def annotate(
        self, headers: DocumentAnnotations, match_list: bytes, label_paths: LabelPaths | None
    ) -> bytes:
        """The header of annotations for a document that is sent now; empty if nothing pays off.

        Parameters
        ----------
        headers
            Makes the document's headers.
        match_list
            The patterns of the interest that match the document.
        label_paths
            The label paths of the document, if they are known.
        """
        gain = self.gain
        if gain.kinds == MATCH_LIST_ALONE:
            header = headers.encode_list(self._interest_digest, match_list)
            if header:
                self.sent_list(len(header))
            return header
        kinds = gain.next_kinds()
        self._documents_since_change += 1
        parts: dict[AnnotationKind, bytes] = {}
        spent: dict[AnnotationKind, int] = {}
        if AnnotationKind.MATCH_LIST in kinds:
            parts[AnnotationKind.MATCH_LIST] = match_list
        elif AnnotationKind.NEGATIVE_SUBSCRIPTIONS in kinds:
            parts[AnnotationKind.NEGATIVE_SUBSCRIPTIONS] = possible_list(match_list)
        if label_paths is not None and not DATA_KINDS.isdisjoint(kinds):
            maker = self._prepared_maker()
            if maker is not None:
                begin = self._cpu_time()
                for kind, part in maker.parts(kinds, match_list, label_paths):
                    end = self._cpu_time()
                    parts[kind], spent[kind] = part, end - begin
                    begin = end
        encoded, sizes = headers.encode(self._interest_digest, parts)
        gain.sent(sizes, spent)
        return encoded

    def _prepared_maker(self) -> AnnotationMaker | None:
        """Makes annotations from label paths; ``None`` while the interest changes too often."""
        if self._maker is None and len(self._interest) <= prepared_patterns(
            self._documents_since_change, is_adaptive=self._is_adaptive
        ):
            self._maker = AnnotationMaker(self._interest.patterns)
        return self._maker


def prepared_patterns(documents: int, *, is_adaptive: bool) -> int:
    """For how many patterns annotations derived from label paths are prepared.

    Parameters
    ----------
    documents
        Documents since the last change of the patterns.
    is_adaptive
        Whether kinds are chosen by what they save.
    """
    if is_adaptive:
        return PREPARED_PATTERNS_FREE + PREPARED_PATTERNS_PER_DOCUMENT * documents
    return PREPARED_TARGETS_PER_DOCUMENT * documents
