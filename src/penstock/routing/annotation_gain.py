"""Decides which kinds of annotations a neighbour gets, by what they save and what they cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.routing.annotation_kinds import (
    MATCH_LIST_ALONE,
    AnnotationKind,
    AnnotationOptions,
)
from penstock.routing.limits import (
    ANNOTATION_GAIN_MIN,
    ANNOTATION_READ_SHARE_MAX,
    ANNOTATION_REPORT_DOCUMENTS,
    ANNOTATION_TRIAL_INTERVAL_MAX,
    ANNOTATION_TRIAL_REPORTS,
)
from penstock.routing.router_messages import AnnotationReport


class AnnotationGain:
    """The sender's side: what each kind cost, and what the neighbour reported that it saved.

    A kind is kept if the bytes that the neighbour did not read are a multiple of the bytes that
    were sent, and if reading them would have taken longer than making and using the annotation, as
    far as CPU time is measured. The match list is used first. Where the neighbour reads much all
    the same, all kinds are tried for a while, ever more rarely if none of them pays off.

    Examples
    --------
    >>> gain = AnnotationGain(AnnotationOptions())
    >>> gain.kinds
    frozenset({<AnnotationKind.MATCH_LIST: 'match-list'>})
    >>> gain.sent({AnnotationKind.MATCH_LIST: 100})
    >>> gain.reported(AnnotationReport(documents=64, bytes_read=20_000))
    >>> sorted(map(str, gain.kinds))
    ['match-list', 'nd', 'ns', 'pd', 'ps', 'skeleton']
    """

    def __init__(self, options: AnnotationOptions) -> None:
        self._options = options
        self._bytes_sent = dict.fromkeys(AnnotationKind, 0)
        self._bytes_saved = dict.fromkeys(AnnotationKind, 0)
        self._nanoseconds_spent = dict.fromkeys(AnnotationKind, 0)
        self._nanoseconds_per_byte = 0.0
        """What the neighbour's reading takes."""
        self._trial_reports = 0
        """Reports until the current trial ends; 0 if there is none."""
        self._kinds_before_trial: frozenset[AnnotationKind] = frozenset()
        self._reports_to_trial = 0
        self._trial_interval = 1
        """Reports between the last trial and the next one."""
        self._not_annotated = 0
        """Documents since kinds were chosen that had no annotations."""
        first = MATCH_LIST_ALONE & options.kinds
        self.kinds = first if options.is_adaptive and first else options.kinds
        """The kinds for the next document."""

    def next_kinds(self) -> frozenset[AnnotationKind]:
        """The kinds for a document that is sent."""
        if not self.kinds:
            # A neighbour that gets no annotations reports nothing.
            self._not_annotated += 1
            if self._not_annotated >= ANNOTATION_REPORT_DOCUMENTS * self._trial_interval:
                self._begin_trial()
        return self.kinds

    def sent(
        self,
        sizes: Mapping[AnnotationKind, int],
        nanoseconds: Mapping[AnnotationKind, int] | None = None,
    ) -> None:
        """A document was sent with annotations of these sizes.

        Parameters
        ----------
        sizes
            Bytes of each kind.
        nanoseconds
            CPU time that making them took, where it was measured.
        """
        for kind, size in sizes.items():
            self._bytes_sent[kind] += size
        if nanoseconds:
            for kind, spent in nanoseconds.items():
                self._nanoseconds_spent[kind] += spent

    def sent_match_list(self, size: int) -> None:
        """A document was sent with a match list of this size, and no other annotation."""
        self._bytes_sent[AnnotationKind.MATCH_LIST] += size

    def reported(self, report: AnnotationReport) -> None:
        """The neighbour reports what annotations saved, and what using them took."""
        if not self._options.is_adaptive:
            return
        if report.bytes_read and report.nanoseconds_reading:
            self._nanoseconds_per_byte = report.nanoseconds_reading / report.bytes_read
        for kind in self._options.kinds:
            self._bytes_saved[kind] += report.bytes_not_read.get(kind, 0)
            self._nanoseconds_spent[kind] += report.nanoseconds_deciding.get(kind, 0)
        if self._trial_reports > 1:
            self._trial_reports -= 1
            return
        self.kinds = frozenset(filter(self._pays, self.kinds))
        if self._trial_reports:
            self._end_trial()
        elif self._reports_to_trial:
            self._reports_to_trial -= 1
        not_read = sum(report.bytes_not_read.values())
        reads_much = report.bytes_read > ANNOTATION_READ_SHARE_MAX * (report.bytes_read + not_read)
        if reads_much and not self._reports_to_trial:
            self._begin_trial()
        # Older documents count for less, so that the choice follows the traffic.
        for counter in (self._bytes_sent, self._bytes_saved, self._nanoseconds_spent):
            for kind in counter:
                counter[kind] //= 2

    def _begin_trial(self) -> None:
        self._kinds_before_trial = self.kinds
        self.kinds = self._options.kinds
        self._trial_reports = ANNOTATION_TRIAL_REPORTS
        self._not_annotated = 0

    def _end_trial(self) -> None:
        if self.kinds <= self._kinds_before_trial:
            self._trial_interval = min(2 * self._trial_interval, ANNOTATION_TRIAL_INTERVAL_MAX)
        else:
            self._trial_interval = 1
        self._reports_to_trial = self._trial_interval
        self._trial_reports = 0

    def _pays(self, kind: AnnotationKind) -> bool:
        sent, saved = self._bytes_sent[kind], self._bytes_saved[kind]
        return (
            sent > 0
            and saved >= ANNOTATION_GAIN_MIN * sent
            and saved * self._nanoseconds_per_byte >= self._nanoseconds_spent[kind]
        )


class ReceivedGain:
    """The receiver's side: what annotations of a neighbour saved since the last report."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._documents = 0
        self._bytes_read = 0
        self._bytes_not_read: dict[str, int] = dict.fromkeys(AnnotationKind, 0)
        self._not_read_by_list = 0
        self._nanoseconds_reading = 0
        self._nanoseconds_deciding: dict[str, int] = {}

    def took(
        self, *, reading: int, deciding: int = 0, kinds: Collection[AnnotationKind] = ()
    ) -> None:
        """Count the CPU time of a document that the match list did not decide, in nanoseconds.

        Parameters
        ----------
        reading
            Reading the document, if that was necessary.
        deciding
            Evaluating its other annotations, which are of these kinds.
        """
        self._nanoseconds_reading += reading
        for kind in kinds:
            spent = self._nanoseconds_deciding.get(kind, 0)
            self._nanoseconds_deciding[kind] = spent + deciding // len(kinds)

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
        return self._report() if self._documents >= ANNOTATION_REPORT_DOCUMENTS else None

    def not_read(self, content_bytes: int) -> AnnotationReport | None:
        """Count a document of this size that the match list alone decided, as most are.

        Returns the report when one is due.
        """
        self._documents += 1
        self._not_read_by_list += content_bytes
        return self._report() if self._documents >= ANNOTATION_REPORT_DOCUMENTS else None

    def _report(self) -> AnnotationReport:
        self._bytes_not_read[AnnotationKind.MATCH_LIST] += self._not_read_by_list
        report = AnnotationReport(
            documents=self._documents,
            bytes_read=self._bytes_read,
            bytes_not_read={str(kind): saved for kind, saved in self._bytes_not_read.items()},
            nanoseconds_reading=self._nanoseconds_reading,
            nanoseconds_deciding={
                str(kind): spent for kind, spent in self._nanoseconds_deciding.items()
            },
        )
        self._reset()
        return report
