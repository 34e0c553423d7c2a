"""Progress within a batch: what tasks write, and what the driver and the command show of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.commands import run as run_command
from penstock.pipeline.batch_progress_files import BatchProgressFiles, TaskProgress
from penstock.workspace.pipeline_tables import Tables


@pytest.fixture
def progress(tmp_path: Path) -> BatchProgressFiles:
    return BatchProgressFiles.beside(Tables(str(tmp_path)), "stream")


def attempt(progress: BatchProgressFiles, task: int, number: int, *documents: int) -> None:
    """A task attempt that reports documents."""
    assert progress.folder is not None
    reported = TaskProgress(f"{progress.folder}/{task}-{number}")
    for count in documents:
        reported.add(count)
    reported.close()


def test_documents_of_all_tasks_are_added(progress: BatchProgressFiles) -> None:
    with progress.of_batch():
        assert progress.documents() == 0
        attempt(progress, 0, 0, 3, 4)
        attempt(progress, 1, 0, 10)
        assert progress.documents() == 17
    assert progress.documents() == 0, "the batch has ended"


def test_attempts_of_one_task_count_once(progress: BatchProgressFiles) -> None:
    with progress.of_batch():
        attempt(progress, 0, 0, 5)
        attempt(progress, 0, 1, 2)
        assert progress.documents() == 5


def test_a_batch_does_not_count_files_left_by_a_killed_one(progress: BatchProgressFiles) -> None:
    assert progress.folder is not None
    Path(progress.folder).mkdir(parents=True)
    attempt(progress, 0, 0, 5)
    with progress.of_batch():
        assert progress.documents() == 0


def test_a_remote_file_system_has_no_progress() -> None:
    progress = BatchProgressFiles.beside(Tables("s3://bucket/tables"), "stream")
    with progress.of_batch():
        assert progress.documents() == 0


def test_a_long_batch_is_reported_line_by_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_command, "LINE_SECONDS", -1)
    view = run_command._LineView()
    view.progress(0)
    view.progress(1)
    view.progress(2)
    assert capfd.readouterr().err == (
        "batch in progress: 1 document matched\nbatch in progress: 2 documents matched\n"
    )
