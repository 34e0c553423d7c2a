"""Checks that clients get the reports that they are due.

Each report in an entry of the server's log is due to its client. It is delivered at least once, and
not more often than it is due: equal reports in one message are one. What was decided between the
base of a client that clones again and the start of the log cannot be reported; the statements of
the client that were decided there are reported as unknown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from penstock.sync.messages import CloneAnswer, Message, SubmittedStatement
from penstock.sync.reports import Outcome, Report
from penstock.sync.update_log import LogEntry

_OF_CLIENT = (Outcome.SUSPENDED, Outcome.NOT_SELECTED)
"""Outcomes that depend on the cache or on the subscription, and are not in the log."""


class ReportChecker:
    """Compares the reports of a log with those that clients got."""

    def __init__(self) -> None:
        self._due: dict[str, list[tuple[int, Report]]] = defaultdict(list)
        """The reports to each client, with the version of their entry."""
        self._unknown: set[tuple[str, int]] = set()
        """Clients and numbers of the statements to be reported as unknown."""
        self._decided: dict[tuple[str, int], int] = {}
        """The versions of statements, by client and number."""
        self._log_starts: dict[int, tuple[CloneAnswer, int]] = {}
        """Where the log started when an answer was made, by the identity of the answer."""
        self._delivered: dict[str, Counter[Report]] = defaultdict(Counter)

    def decided(
        self, entries: Iterable[LogEntry], messages: Iterable[Message], log_start: int
    ) -> None:
        """A round added entries to the log, which started after a version, and sent messages."""
        for entry in entries:
            self._decided[entry.client, entry.number] = entry.version
            for each in entry.reports:
                self._due[each.client].append((entry.version, each.report))
        for message in messages:
            if isinstance(message, CloneAnswer):
                self._log_starts[id(message)] = message, log_start

    def cloned(
        self, answer: CloneAnswer, version: int, pending: Sequence[SubmittedStatement]
    ) -> None:
        """A client took over an answer; before, it had a base and pending statements."""
        client = answer.client
        _, log_start = self._log_starts[id(answer)]
        self._due[client] = [due for due in self._due[client] if not version < due[0] <= log_start]
        self._unknown |= {
            (client, statement.number)
            for statement in pending
            if self._decided.get((client, statement.number), log_start + 1) <= log_start
        }

    def delivered(self, client: str, report: Report) -> None:
        """A client got a report."""
        if report.outcome not in _OF_CLIENT:
            self._delivered[client][report] += 1

    def problem(self) -> str | None:
        """What is wrong when all clients have synchronised; ``None`` if nothing is."""
        for client in sorted({*self._due, *self._delivered}):
            due = Counter(report for _, report in self._due[client])
            got = Counter(self._delivered[client])
            unknown = [report for report in got if report.outcome is Outcome.UNKNOWN]
            expected = {number for name, number in self._unknown if name == client}
            if Counter(each.statement for each in unknown) != Counter(expected):
                return f"{client} got {unknown}, but the unknown statements are {sorted(expected)}"
            for report in unknown:
                del got[report]
            if missing := set(due) - set(got):
                return f"{client} did not get {sorted(missing, key=str)}"
            if repeated := got - due:
                return f"{client} got too often {sorted(repeated, key=str)}"
        return None
