"""`--verbose` and `--log-file`: standard logging under `penstock`."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.log_output import configure_logging
from support.fixtures.commands import penstock, penstock_process


@pytest.fixture(autouse=True)
def _without_handlers_afterwards() -> object:
    yield
    configure_logging(verbose=False, log_file=None)


def test_verbose_logs_to_stderr_and_data_stays_on_stdout(workspace_folder: Path) -> None:
    done = penstock("--verbose", "subscribe", "anna", "/a")
    assert done.out == "anna-1\n"
    assert "INFO penstock.cli.app: subscribe ended after" in done.err
    assert "INFO" not in penstock("subscribe", "anna", "/b").err


def test_a_log_file_is_appended_to_and_has_no_control_characters(workspace_folder: Path) -> None:
    log = workspace_folder / "log"
    for number in range(2):
        document = workspace_folder / f"{number}.xml"
        document.write_text("<a/>")
        assert penstock("--log-file", str(log), "publish", str(document)).code == 0
    text = log.read_text("utf-8")
    assert text.count("penstock.workspace.inbox: published 1 of ") == 1
    assert text.count("published 0 of 1 documents") == 1
    logging.getLogger("penstock.test").warning("a\x1b[2Jb")
    configure_logging(verbose=False, log_file=log)
    logging.getLogger("penstock.test").warning("c\x1b[2Jd")
    text = log.read_text("utf-8")
    assert "c\\x1b[2Jd" in text
    assert "\x1b" not in text


def test_a_log_file_that_cannot_be_written_is_reported() -> None:
    done = penstock_process("--log-file", "/dev/null/log", "relate", "/a", "/b")
    assert done.code == 3
    assert "Not a directory" in done.err
    assert "Traceback" not in done.err


def test_the_library_prints_no_records_by_itself() -> None:
    code = (
        "import penstock, logging; log = logging.getLogger('penstock.test')"
        "; assert not log.isEnabledFor(logging.INFO); log.error('unseen')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
