"""The benchmark harness: interleaving, medians, budgets, reports. No test asserts a time."""

from __future__ import annotations

import gc
import json
import platform
from pathlib import Path

import pytest

from penstock.lab.bench.budgets import BUDGETS, Bound, Budget, Check, check_all
from penstock.lab.bench.machine_description import Machine, this_machine
from penstock.lab.bench.process_memory import resident_bytes
from penstock.lab.bench.report import Figure, Report, check_text, format_number
from penstock.lab.bench.timing import Timing, interleaved, once

LEAST = Budget("reader", "speedup", "as fast as", Bound.AT_LEAST, 3, "x")
MOST = Budget("index", "build", "as slow as", Bound.AT_MOST, 10, "µs")
MACHINE = Machine("a CPU", 2, 8.2, "Linux x86_64", "3.11.1", "rustc 1.88.0", "release")


def test_alternatives_alternate_and_each_begins_a_round() -> None:
    ran: list[str] = []
    sides = {name: (lambda name=name: ran.append(name)) for name in "abc"}
    times = interleaved(sides, repeats=3)
    assert "".join(ran) == "abc" + "bca" + "cab"
    assert {name: len(timing.seconds) for name, timing in times.items()} == dict.fromkeys("abc", 3)


def test_the_median_ignores_a_disturbed_repeat() -> None:
    timing = Timing((1.0, 9.0, 2.0))
    assert timing.median == 2.0
    assert timing.spread == 9.0


def test_the_collector_is_disabled_only_while_timing() -> None:
    seen: list[bool] = []
    assert gc.isenabled()
    assert once(lambda: seen.append(gc.isenabled())) >= 0
    assert seen == [False]
    assert gc.isenabled()


def test_the_collector_is_enabled_again_after_a_failure() -> None:
    with pytest.raises(ZeroDivisionError):
        once(lambda: 1 // 0)
    assert gc.isenabled()


@pytest.mark.skipif(platform.system() != "Linux", reason="only Linux reports it")
def test_resident_memory_grows_with_allocations() -> None:
    before = resident_bytes()
    held = bytearray(b"x" * 50_000_000)
    assert resident_bytes() - before > 25_000_000
    del held


@pytest.mark.parametrize(
    ("budget", "value", "met", "shortfall"),
    [
        (LEAST, 3.0, True, 1.0),
        (LEAST, 6.0, True, 0.5),
        (LEAST, 1.5, False, 2.0),
        (LEAST, 0.0, False, float("inf")),
        (MOST, 10.0, True, 1.0),
        (MOST, 25.0, False, 2.5),
    ],
)
def test_a_budget_is_met_on_its_side_of_the_limit(
    budget: Budget, value: float, met: bool, shortfall: float
) -> None:
    check = Check(budget, value)
    assert check.met is met
    assert check.shortfall == shortfall


def test_every_budget_needs_its_value_and_every_value_its_budget() -> None:
    values = {"speedup": 4.0, "latin1": 0.6, "schema_infer": 1.5}
    assert [check.value for check in check_all("reader", values)] == [4.0, 0.6, 1.5]
    with pytest.raises(AssertionError):
        check_all("reader", {})
    with pytest.raises(AssertionError):
        check_all("reader", {**values, "other": 1.0})


def test_budgets_are_named_once() -> None:
    keys = [(budget.bench, budget.key) for budget in BUDGETS]
    assert len(keys) == len(set(keys))


def test_a_missed_check_reports_its_factor() -> None:
    assert check_text(Check(LEAST, 4.0)) == "4 x (at least 3 x): met"
    assert check_text(Check(MOST, 25.0)) == "25 µs (at most 10 µs): MISSED by a factor of 2.50"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0123456, "0.0123"), (12.3456, "12.3"), (1234567.8, "1,234,568")]
)
def test_numbers_have_three_significant_digits(value: float, shown: str) -> None:
    assert format_number(value) == shown


def test_a_report_is_written_as_text_and_as_json(tmp_path: Path) -> None:
    report = Report("reader", False, MACHINE, (Figure("lxml", 90.0, "MB/s"),), (Check(LEAST, 1.5),))
    assert not report.met
    report.write(tmp_path / "results")
    text = (tmp_path / "results" / "reader.txt").read_text(encoding="utf-8")
    assert text.splitlines() == [
        "penstock bench reader",
        "a CPU, 2 cores, 8 GB; Linux x86_64; Python 3.11.1; rustc 1.88.0, release build",
        "",
        "as fast as: 1.5 x (at least 3 x): MISSED by a factor of 2.00",
        "",
        "lxml: 90 MB/s",
    ]
    data = json.loads((tmp_path / "results" / "reader.json").read_text(encoding="utf-8"))
    assert data["met"] is False
    assert data["checks"][0]["shortfall"] == 2.0
    assert data["machine"]["cores"] == 2


def test_the_machine_is_described_without_its_name() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert platform.node() not in str(machine) or len(platform.node()) < 4
