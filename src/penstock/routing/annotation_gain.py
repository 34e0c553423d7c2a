"""Decides which kinds of annotations a neighbour gets, by what they save and what they cost."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.routing.annotation_kinds import AnnotationKind, AnnotationOptions
from penstock.routing.limits import (
    ANNOTATION_GAIN_MIN,
    ANNOTATION_PROBE_DOCUMENTS,
    ANNOTATION_READ_SHARE_MAX,
    ANNOTATION_REPORT_DOCUMENTS,
)
from penstock.routing.router_messages import AnnotationReport


class AnnotationGain:
    """The sender's side: bytes of each kind that were sent, and what the neighbour reported.

    Gain is counted in bytes that the neighbour did not read, which is deterministic, where time is
    not. The match list is tried first; other kinds only if the neighbour still reads.

    Examples
    --------
    >>> gain = AnnotationGain(AnnotationOptions())
    >>> gain.next_kinds()
    frozenset({<AnnotationKind.MATCH_LIST: 'match-list'>})
    >>> gain.sent({AnnotationKind.MATCH_LIST: 100})
    >>> gain.reported(AnnotationReport(documents=64, bytes_read=20_000))
    >>> sorted(map(str, gain.next_kinds()))
    ['nd', 'ns', 'pd', 'ps', 'skeleton']
    """

    def __init__(self, options: AnnotationOptions) -> None:
        self._options = options
        self._documents = 0
        self._bytes_sent = dict.fromkeys(AnnotationKind, 0)
        self._bytes_saved = dict.fromkeys(AnnotationKind, 0)
        first = frozenset({AnnotationKind.MATCH_LIST}) & options.kinds
        self._kinds = first if options.is_adaptive and first else options.kinds
        self._probed = self._kinds

    @property
    def upcoming(self) -> frozenset[AnnotationKind]:
        """The kinds for the next document."""
        is_probe = (self._documents + 1) % ANNOTATION_PROBE_DOCUMENTS == 0
        return self._probed if is_probe else self._kinds

    def next_kinds(self) -> frozenset[AnnotationKind]:
        """The kinds for a document that is sent."""
        kinds = self.upcoming
        self._documents += 1
        return kinds

    def sent(self, sizes: Mapping[AnnotationKind, int]) -> None:
        """A document was sent with annotations of these sizes."""
        for kind, size in sizes.items():
            self._bytes_sent[kind] += size

    def reported(self, report: AnnotationReport) -> None:
        """The neighbour reports what annotations saved."""
        if not self._options.is_adaptive:
            return
        not_read = sum(report.bytes_not_read.values())
        reads_much = report.bytes_read > ANNOTATION_READ_SHARE_MAX * (report.bytes_read + not_read)
        for kind in self._options.kinds:
            self._bytes_saved[kind] += report.bytes_not_read.get(kind, 0)
        self._kinds = frozenset(
            kind for kind in self._options.kinds if self._pays(kind, reads_much)
        )
        self._probed = self._options.kinds if reads_much else self._kinds
        # Older documents count for less, so that the choice follows the traffic.
        for counter in (self._bytes_sent, self._bytes_saved):
            for kind in counter:
                counter[kind] //= 2

    def _pays(self, kind: AnnotationKind, reads_much: bool) -> bool:
        sent = self._bytes_sent[kind]
        return self._bytes_saved[kind] >= ANNOTATION_GAIN_MIN * sent if sent else reads_much


class ReceivedGain:
    """The receiver's side: what annotations of a neighbour saved since the last report."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._documents = 0
        self._bytes_read = 0
        self._bytes_not_read: dict[str, int] = dict.fromkeys(AnnotationKind, 0)

    def add(
        self, kinds: frozenset[AnnotationKind], bytes_read: int, bytes_not_read: int
    ) -> AnnotationReport | None:
        """Count an annotated document; returns the report when one is due.

        Parameters
        ----------
        kinds
            The kinds that decided together; empty if the document was read.
        bytes_read, bytes_not_read
            How much of the document was read, and what they saved.
        """
        self._documents += 1
        self._bytes_read += bytes_read
        for kind in kinds:
            self._bytes_not_read[kind] += bytes_not_read // len(kinds)
        if self._documents < ANNOTATION_REPORT_DOCUMENTS:
            return None
        report = AnnotationReport(
            documents=self._documents,
            bytes_read=self._bytes_read,
            bytes_not_read={str(kind): saved for kind, saved in self._bytes_not_read.items()},
        )
        self._reset()
        return report
