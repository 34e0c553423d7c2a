"""`penstock bench`: every benchmark runs with small inputs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.cli.commands.bench import Bench
from penstock.lab.bench import BENCHES
from penstock.lab.bench.budgets import BUDGETS, Bound, Budget, Check
from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Figure, Progress, Report
from penstock.native import native
from support.fixtures.commands import penstock

needs_native = pytest.mark.skipif(native is None, reason="the native core is not built")


def test_the_argument_accepts_every_benchmark() -> None:
    assert {each.value for each in Bench} == set(BENCHES)
    assert {budget.bench for budget in BUDGETS} == set(BENCHES)


@needs_native
@pytest.mark.parametrize("name", sorted(BENCHES))
def test_a_quick_run_measures_every_budget(name: str) -> None:
    done = penstock("bench", name, "--quick", "--json")
    assert done.code == 0
    (report,) = done.rows
    assert report["quick"] is True
    assert {check["key"] for check in report["checks"]} == {
        budget.key for budget in BUDGETS if budget.bench == name
    }
    # Some values are differences, which may be negative in a quick run.
    assert all(math.isfinite(check["value"]) for check in report["checks"])
    assert report["figures"]


@pytest.fixture
def missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark that misses one of its two budgets."""
    checks = (
        Check(Budget("reader", "good", "the good one", Bound.AT_LEAST, 2, "x"), 4.0),
        Check(Budget("reader", "bad", "the bad one", Bound.AT_MOST, 10, "ns"), 25.0),
    )
    report = Report("reader", False, this_machine(), (Figure("speed", 12.0, "MB/s"),), checks)

    def measure(*, quick: bool, progress: Progress) -> Report:
        progress("measuring")
        return report

    monkeypatch.setitem(BENCHES, "reader", measure)


@pytest.mark.usefixtures("missed")
def test_a_missed_budget_fails_only_with_check() -> None:
    assert penstock("bench", "reader").code == 0
    done = penstock("bench", "reader", "--check")
    assert done.code == 1
    assert "missed by a factor of 2.50: the bad one" in done.err
    rows = {line.split("  ")[0]: line for line in done.out.splitlines()}
    assert rows["the good one"].endswith("met")
    assert rows["the bad one"].endswith("MISSED")


@pytest.mark.parametrize(("profile", "noted"), [("release", False), ("quick", True)])
def test_a_core_without_all_optimisations_is_noted(
    monkeypatch: pytest.MonkeyPatch, profile: str, noted: bool
) -> None:
    machine = replace(this_machine(), build_profile=profile)
    report = Report("reader", False, machine, (Figure("speed", 12.0, "MB/s"),), ())
    monkeypatch.setitem(BENCHES, "reader", lambda **_: report)
    assert ("`make bench` compiles" in penstock("bench", "reader").err) == noted


@pytest.mark.usefixtures("missed")
def test_write_stores_the_results(tmp_path: Path) -> None:
    assert penstock("bench", "reader", "--write", str(tmp_path)).code == 0
    assert json.loads((tmp_path / "reader.json").read_text(encoding="utf-8"))["met"] is False
    assert "MISSED" in (tmp_path / "reader.txt").read_text(encoding="utf-8")
