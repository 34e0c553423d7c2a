"""Whether the native core is there is decided in one place."""

from __future__ import annotations

import os
import subprocess
import sys

HIDE_CORE = "import sys; sys.modules['penstock._native'] = None; "


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PENSTOCK_REQUIRE_NATIVE": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_the_core_one_warning_is_given() -> None:
    done = run(
        HIDE_CORE + "import penstock.native; import penstock.native; "
        "assert penstock.native.native is None"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("NativeMissingWarning") == 1


def test_a_required_core_that_is_absent_is_an_error() -> None:
    done = run(HIDE_CORE + "import penstock.native", PENSTOCK_REQUIRE_NATIVE="1")
    assert done.returncode != 0
    assert "[native.missing]" in done.stderr


def test_what_only_the_core_can_do_is_refused_without_it() -> None:
    done = run(HIDE_CORE + "from penstock.mediation import DocumentWriter; DocumentWriter()")
    assert done.returncode != 0
    assert "[native.missing]" in done.stderr
    assert "AttributeError" not in done.stderr
