"""Random histories with faults: each cache ends as the restriction of the server's document."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.sync import Client, Outcome, Report
from penstock.sync.messages import CloneAnswer, SubmittedStatement
from penstock.sync.operations import Delete
from penstock.sync.simulation import Divergence, HistoryOptions, options_of_seed, run_history
from penstock.sync.simulation.report_checker import ReportChecker
from penstock.sync.update_log import AddressedReport, LogEntry
from support.contracts.native_engines import needs_native

pytestmark = needs_native

RESTORED_DELETIONS = (24, 94, 110, 191, 240)
"""Seeds in which a node, deleted before the checkpoint and restored after it, was missing when the
server was restored."""


@pytest.mark.parametrize("seed", [*range(40), *RESTORED_DELETIONS])
def test_caches_converge(seed: int) -> None:
    run_history(seed)


@pytest.mark.parametrize(
    "options",
    [
        HistoryOptions(loss=0.5, repetition=0.5, reordering=0.9),
        HistoryOptions(kill=0.2, horizon=8),
        HistoryOptions(clients=6, steps=300, document_nodes=40, offline=0.2),
        HistoryOptions(subscription_change=0.3, horizon=1_000),
        HistoryOptions(edit=0.5, rare=0.3),
        HistoryOptions(rare=1, horizon=8, offline=0.2, kill=0.02, document_nodes=40),
        HistoryOptions(loss=0, repetition=0, reordering=0, kill=0, offline=0),
        HistoryOptions(clients=5, steps=300, offline=0.2, loss=0.3, horizon=8, kill=0.02),
        HistoryOptions(backup=0.05, reordering=0.8, repetition=0.4, edit=0.1, rare=0.2),
        HistoryOptions(backup=0.05, horizon=8, offline=0.2, kill=0.05, subscription_change=0.1),
    ],
)
def test_caches_converge_under_each_kind_of_fault(options: HistoryOptions) -> None:
    for seed in range(5):
        run_history(seed, options)


@pytest.mark.parametrize("seed", [44, 150, 170, 191, 224, 378, 459])
def test_caches_converge_when_servers_are_restored_from_backups(seed: int) -> None:
    """Seeds in which clients could not synchronise any more, or the checker expected too little."""
    run_history(seed, replace(options_of_seed(seed), backup=0.05))


@pytest.mark.parametrize(
    "seed",
    [
        5123,  # A client clones again; the log starts after the last version that both have.
        5396,
        18654,  # The log of a backup reaches back to reports that were not in the log any more.
        32968,  # A message applies to a version that has the number of the client's, by chance.
    ],
)
def test_caches_converge_in_histories_that_a_long_run_found(seed: int) -> None:
    run_history(seed, options_of_seed(seed))


def test_a_seed_determines_the_history() -> None:
    assert run_history(7) == run_history(7)


CLONING = HistoryOptions(clients=5, steps=300, offline=0.2, loss=0.3, horizon=8, kill=0.02)
"""Clients are often beyond the horizon."""


def test_histories_have_reports_that_come_with_clones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not read them is found."""
    replace_cache = Client._replace_cache

    def without_reports(client: Client, answer: CloneAnswer) -> None:
        replace_cache(client, replace(answer, reports=()))

    monkeypatch.setattr(Client, "_replace_cache", without_reports)
    with pytest.raises(Divergence, match="did not get"):
        run_history(0, CLONING)


OVERWRITTEN = Report(Outcome.OVERWRITTEN, 1, "1.1", "two", "")
ANSWER = CloneAnswer(client="one", number=2, replica=2, version=3, decided=1, snapshot=b"")
PENDING = SubmittedStatement(number=1, base=0, operations=(Delete("1.1"),))


def checker(log_start: int, *delivered: Report) -> ReportChecker:
    """After the client ``one`` with a pending statement has cloned again; the statement has version
    1, and version 2 overwrote it."""
    checker = ReportChecker()
    entries = [
        LogEntry(1, "one", 1, 0, ()),
        LogEntry(2, "two", 1, 0, (), (AddressedReport("one", OVERWRITTEN),)),
    ]
    checker.decided(entries, [ANSWER], log_start)
    checker.cloned(ANSWER, 0, [PENDING])
    for report in delivered:
        checker.delivered("one", report)
    return checker


def test_the_checker_counts_reports() -> None:
    unknown = Report(Outcome.UNKNOWN, 1, "1.1", "", "")
    assert checker(0, OVERWRITTEN).problem() is None
    assert "did not get" in (checker(0).problem() or "")
    assert "too often" in (checker(0, OVERWRITTEN, OVERWRITTEN).problem() or "")
    assert "unknown" in (checker(0, OVERWRITTEN, unknown).problem() or "")
    assert checker(1, OVERWRITTEN, unknown).problem() is None
    assert "unknown" in (checker(1, OVERWRITTEN).problem() or "")
    assert checker(2, unknown).problem() is None
