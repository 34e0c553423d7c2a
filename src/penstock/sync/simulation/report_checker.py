"""Checks that clients get the reports that they are due.

Each report in an entry of the server's log is due to its client. It is delivered at least once, and
not more often than it is due: equal reports in one message are one. When a client clones again,
what was decided between the last version that it shares with the server and the start of the log
cannot be reported; the statements of the client that were decided there are reported as unknown.

When the server is restored from an older state, reports in entries that it does not have may have
been delivered or not, and some others are delivered again. The client's statements in these entries
that it knows to be decided are reported as lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

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
        self._optional: dict[str, Counter[Report]] = defaultdict(Counter)
        """The reports to each client that may be delivered more often: those in entries that the
        server has lost, and those after the last version that both certainly have had."""
        self._trimmed: dict[str, list[tuple[int, Report]]] = defaultdict(list)
        """The reports that were due to each client, but not in the log when it cloned again."""
        self._unknown: Counter[tuple[str, int]] = Counter()
        """Clients and numbers of the statements to be reported as unknown."""
        self._lost: Counter[tuple[str, int]] = Counter()
        """Clients and numbers of the statements to be reported as lost."""
        self._not_reported: dict[str, set[int]] = defaultdict(set)
        """Lost statements that each client, which has not cloned since, takes for decided."""
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
        shared = answer.shared_version
        if shared is not None and shared < version:
            # What is after the last version that both certainly have had is reported again, and
            # what is pending is submitted again.
            self._optional[client].update(r for at, r in self._due[client] if at > shared)
        else:
            self._unknown.update(
                (client, statement.number)
                for statement in pending
                if self._decided.get((client, statement.number), log_start + 1) <= log_start
            )
        had = version if shared is None else min(version, shared)
        due = self._due[client]
        self._due[client] = [each for each in due if not had < each[0] <= log_start]
        self._trimmed[client] += [each for each in due if had < each[0] <= log_start]
        # A request that arrived late may have had some of them decided again.
        self._lost.update(
            (client, number)
            for number in self._not_reported.pop(client, ())
            if number > answer.decided
        )

    def restored(self, version: int, pending: Mapping[str, Collection[int]]) -> None:
        """The server was restored from the state of a version; clients have pending statements."""
        for (client, number), decided in list(self._decided.items()):
            if decided > version:
                del self._decided[client, number]
                if number not in pending[client]:
                    self._not_reported[client].add(number)
        for client, due in self._due.items():
            self._optional[client].update(report for at, report in due if at > version)
            self._due[client] = [each for each in due if each[0] <= version]
            # The log of the older state reaches further back.
            self._optional[client].update(report for _, report in self._trimmed.pop(client, ()))

    def delivered(self, client: str, report: Report) -> None:
        """A client got a report."""
        if report.outcome not in _OF_CLIENT:
            self._delivered[client][report] += 1

    def problem(self) -> str | None:
        """What is wrong when all clients have synchronised; ``None`` if nothing is."""
        for client in sorted({*self._due, *self._delivered}):
            due = Counter(report for _, report in self._due[client])
            got = Counter(self._delivered[client])
            for outcome, numbers in (
                (Outcome.UNKNOWN, self._unknown),
                (Outcome.LOST, self._lost),
            ):
                expected = sorted(n for name, n in numbers.elements() if name == client)
                reports = [report for report in got.elements() if report.outcome is outcome]
                if sorted(each.statement for each in reports) != expected:
                    return f"{client} got {reports}, but the {outcome} statements are {expected}"
                for report in reports:
                    del got[report]
            if missing := set(due) - set(got):
                return f"{client} did not get {sorted(missing, key=str)}"
            if repeated := got - due - self._optional[client]:
                return f"{client} got too often {sorted(repeated, key=str)}"
        return None
