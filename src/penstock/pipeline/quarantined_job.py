"""Runs the Spark job of a batch again without the documents that end its workers."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.errors import error
from penstock.pipeline.limits import QUARANTINE_ROUNDS_MAX
from penstock.pipeline.quarantine import FailedDocument, Quarantine, QuarantineFile
from penstock.pipeline.session import JAVA_FAILURES, is_worker_loss
from penstock.workspace.delta import last_committed_batch
from penstock.workspace.pipeline_tables import Tables


class QuarantinedJob(Protocol):
    """The Spark job of a batch."""

    @property
    def tables(self) -> Tables:
        """The tables that the batch is committed to."""
        ...

    @property
    def batch(self) -> int:
        """The number of the batch."""
        ...

    def run(self, quarantine: Quarantine) -> list[dict[str, Any]]:
        """Process and write the documents; returns the reports of the tasks."""
        ...

    def probe(self, quarantine: Quarantine) -> list[FailedDocument]:
        """The documents that end the processes they are processed in."""
        ...


def run_with_quarantine(
    job: QuarantinedJob, file: QuarantineFile, stream: str
) -> list[dict[str, Any]]:
    """Run a job; repeat it without the documents that end its workers or fail in some shard."""
    quarantine = file.read()
    for _ in range(QUARANTINE_ROUNDS_MAX):
        failed: list[FailedDocument] = []
        try:
            reports = job.run(quarantine)
        except JAVA_FAILURES as failure:
            if not is_worker_loss(failure) or not _is_extensible(job, stream):
                raise
            failed = job.probe(quarantine)
            if quarantine.extended(failed) == quarantine:
                raise
        else:
            # With shards, a document may have failed in some of them and been accepted by others.
            failed = [FailedDocument(**each["failed"]) for each in reports if "failed" in each]
            if quarantine.extended(failed) == quarantine:
                return [each for each in reports if "failed" not in each]
            if not _is_extensible(job, stream):
                break
        quarantine = quarantine.extended(failed)
        file.write(quarantine)
    raise error(
        "pipeline.failed",
        f"documents of batch {job.batch} keep failing: {len(quarantine.documents)} are quarantined",
    )


def _is_extensible(job: QuarantinedJob, stream: str) -> bool:
    """Whether the quarantine may still change: nothing of the batch is committed yet."""
    last = last_committed_batch(job.tables.documents, stream)
    return last is None or last < job.batch
