"""Configuration of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from support.fixtures.shared_data import missing_data_lines
from support.spark.jvm_options import set_jvm_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# These helpers contain assertions, which pytest rewrites only in test modules by default.
pytest.register_assert_rewrite("support.contracts")

pytest_plugins = ["support.fixtures.cli_workspaces"]

# Ordinary runs always use the same examples, so a new failure is caused by the change.
settings.register_profile(
    "pinned",
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow],
)
# `make fuzz` uses new examples each time; add a regression test for each failure it finds.
FUZZ_EXAMPLES = int(os.environ.get("PENSTOCK_FUZZ_EXAMPLES", "0"))
settings.register_profile(
    "long",
    max_examples=max(FUZZ_EXAMPLES, 1),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("long" if FUZZ_EXAMPLES else "pinned")


set_jvm_options()

# The tests in these files take up to a minute each, or wait for a subprocess.
BEGUN_FIRST = (
    "test_kills.py",
    "test_full_disk.py",
    "test_run.py",
    "test_readers_on_connect.py",
    "test_bench.py",
    "test_documentation.py",
)
# The tests in each of these files share the results of one slow experiment, or a server.
KEPT_TOGETHER = (
    "test_kemb_experiments.py",
    "test_mediation_experiments.py",
    "test_basex_store.py",
)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all tests of a process, started on first use."""
    # Imported on demand: most tests do not need Spark.
    from support.spark.session import spark_session

    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that share a Spark session, and schedules slow tests first.

    `make test` runs the marked tests in one process. Each process of xdist starts with its share of
    the list; a slow test at the end of a share would delay the end of the run.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    for at, name in enumerate(KEPT_TOGETHER):
        shares[-1 - at % processes].extend(item for item in items if item.path.name == name)
    long = [item for name in BEGUN_FIRST for item in items if item.path.name == name]
    for at, item in enumerate(long):
        shares[at % processes].append(item)
    rest = (item for item in items if item.path.name not in (*BEGUN_FIRST, *KEPT_TOGETHER))
    size = -(-len(items) // processes)
    for share in shares:
        share.extend(islice(rest, max(size - len(share), 0)))
    items[:] = [item for share in shares for item in share]


def pytest_collection_finish() -> None:
    """Excludes the collected tests, which live to the end, from garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the ``summary_line`` properties of passed tests, and which test data is missing."""
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "summary_line":
                terminalreporter.write_line(str(line))
    reasons = [
        str(report.longrepr[2])
        for report in terminalreporter.getreports("skipped")
        if isinstance(report.longrepr, tuple)
    ]
    lines = list(missing_data_lines(reasons))
    if lines:
        terminalreporter.section("test data that is not in the repository")
        for line in lines:
            terminalreporter.write_line(line)
