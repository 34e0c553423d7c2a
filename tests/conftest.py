"""How every test runs."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from support.spark.jvm_options import set_jvm_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The contract is asserted in modules that pytest would not look into by itself.
pytest.register_assert_rewrite("support.contracts")

pytest_plugins = ["support.fixtures.cli_workspaces"]

# The same examples in every ordinary run, so that a failure is the change's and nobody else's.
settings.register_profile(
    "pinned",
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow],
)
# `make fuzz`: new examples each time; what it finds becomes a named regression test.
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

# The tests of these files take a minute each, or wait for a process of their own.
BEGUN_FIRST = (
    "test_kills.py",
    "test_full_disk.py",
    "test_run.py",
    "test_readers_on_connect.py",
    "test_bench.py",
    "test_documentation.py",
)
# The tests of each of these files share an experiment, which takes longer than they do.
KEPT_TOGETHER = ("test_kemb_experiments.py", "test_mediation_experiments.py")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all the tests of a process, started when one first asks for it."""
    # Most tests need no Spark: they should not wait for it.
    from support.spark.session import spark_session

    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that share a Spark session: `make test` runs them in one process.

    Those that take long come first, for every process: each begins with its share of the list, and
    begun last, everything else would wait for them.
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
    """The tests are there to the end: no later collection of garbage looks at them again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows what a test wants told although it passed: what it records under ``tell``."""
    for report in terminalreporter.getreports("passed"):
        for name, line in report.user_properties:
            if name == "tell":
                terminalreporter.write_line(str(line))
