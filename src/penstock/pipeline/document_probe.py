"""Finds the documents that end a worker process.

A crash in native code or a kill for lack of memory leaves no exception behind: Spark only reports
that a Python worker is gone. After such a failure the driver runs a job of this stage. Each task
processes its documents in a child process, which announces every document before it works on it.
If the child dies, the announced document is tried alone in a new child, and reported if that dies
too. The task itself survives, so one job finds all such documents.

Only a process that ends is the fault of a document. An exception fails the job, as it does outside
the probe: what belongs to a document is caught where it is processed.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark import cloudpickle

from penstock.documents.failure_report import failure_report
from penstock.errors import PenstockError, error
from penstock.pipeline.batch_matcher import split_by_bytes
from penstock.pipeline.match_stage import delivery_rows
from penstock.pipeline.partition_matcher import PartitionMatcher
from penstock.pipeline.quarantine import FailedDocument
from penstock.pipeline.sequence_numbers import order_keys
from penstock.workspace.content_digest import content_digest

DEATHS: Final = 2
"""Child processes that a document has ended when it is reported."""

DONE: Final = "done"
"""A child process's last announcement for a batch."""

FAILED: Final = pa.schema([pa.field("failed", pa.string(), nullable=False)])
"""The stage's output: each document that ended its process, as JSON."""

_LENGTH: Final = struct.Struct("<q")
_OOM_SCORE_FILE: Final = "/proc/self/oom_score_adj"
_OOM_SCORE_MAX: Final = b"1000"


class ProbeStep(NamedTuple):
    """What a child process works on next."""

    row: int | None
    """The row of a document; ``None`` for work that belongs to no document."""
    finished: int
    """The number of rows at the beginning of the batch that need no more work."""


DocumentWork: TypeAlias = Callable[[pa.RecordBatch], Iterator[ProbeStep]]
"""What is done with documents; it can be pickled. Each step is announced before it is done. The
batches have the columns ``document`` and ``content``."""


@dataclass(frozen=True, slots=True)
class MatchWork:
    """Matches documents, and makes rows of their deliveries. Sent to the workers."""

    matcher: PartitionMatcher

    def __call__(self, documents: pa.RecordBatch) -> Iterator[ProbeStep]:
        """Match documents one by one."""
        for row in range(documents.num_rows):
            yield ProbeStep(row, row)
            for matched in self.matcher.match(iter([documents.slice(row, 1)])):
                delivery_rows(matched, order_keys(matched.documents))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeStage:
    """Processes a partition of documents in child processes. Sent to the workers."""

    work: DocumentWork

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of :data:`FAILED` for the documents of a partition."""
        with contextlib.closing(_Probe(self.work)) as probe:
            for batch in batches:
                for part in split_by_bytes(batch):
                    for failed in probe.failures(part):
                        text = json.dumps(asdict(failed))
                        yield pa.RecordBatch.from_arrays([pa.array([text])], schema=FAILED)


class _Probe:
    """A child process, replaced when it dies."""

    def __init__(self, work: DocumentWork) -> None:
        dumps: Any = cloudpickle.dumps
        self._work: bytes = dumps(work)
        self._child: subprocess.Popen[bytes] | None = None
        self._status = 0
        """The exit status of the last child that died."""

    def failures(self, documents: pa.RecordBatch) -> Iterator[FailedDocument]:
        """The documents of a batch that end their process twice."""
        remaining = documents
        while remaining.num_rows and (reached := self._process(remaining)) is not None:
            row, finished = self._blamed(reached)
            suspect = remaining.slice(row, 1)
            if (again := self._process(suspect)) is not None:
                self._blamed(again)
                yield _failed(suspect, self._status)
            rows = [each for each in range(finished, remaining.num_rows) if each != row]
            remaining = remaining.take(pa.array(rows, pa.int64()))

    def _blamed(self, reached: ProbeStep) -> tuple[int, int]:
        """The row of the document that a child died of, and the number of finished rows."""
        if reached.row is None:
            status = _status_text(self._status)
            raise error("pipeline.failed", f"the process that probes documents {status}")
        return reached.row, reached.finished

    def _process(self, documents: pa.RecordBatch) -> ProbeStep | None:
        """Process documents; ``None`` if the child survives, else the step in which it died."""
        if self._child is None:
            self._child = self._started()
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        reached = ProbeStep(None, 0)
        with contextlib.suppress(BrokenPipeError):
            _send(stdin, _to_bytes(documents))
            while line := stdout.readline():
                announced = json.loads(line)
                if announced == DONE:
                    return None
                if isinstance(announced, dict):
                    self._end()
                    raise error(announced["code"], announced["message"])
                reached = ProbeStep(*announced)
        self._status = self._end()
        return reached

    def _started(self) -> subprocess.Popen[bytes]:
        # Packages may have been added to the path of this worker only.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        child = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            _send(child.stdin, self._work)
        return child

    def _end(self) -> int:
        """Wait for a child that is dead or has no more input; returns its exit status."""
        child, self._child = self._child, None
        assert child is not None
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        return child.wait()

    def close(self) -> None:
        if self._child is not None:
            self._end()


def _failed(document: pa.RecordBatch, status: int) -> FailedDocument:
    (identity,) = document.column("document").to_pylist()
    (content,) = document.column("content").to_pylist()
    how = _status_text(status)
    return FailedDocument(
        str(identity),
        content_digest(content).hex(),
        "internal.worker",
        f"the process of the document {how}, {DEATHS} times",
        failure_report(content, {"type": "worker", "message": how, "deaths": DEATHS}),
    )


def _status_text(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    length = pipe.read(_LENGTH.size)
    return pipe.read(*_LENGTH.unpack(length)) if len(length) == _LENGTH.size else None


def _to_bytes(documents: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, documents.schema) as writer:
        writer.write_batch(documents)
    return sink.getvalue().to_pybytes()


def main() -> None:
    """Processes the documents that arrive on stdin, and announces each on stdout."""
    # When memory is short, the kernel is to end this process, not the worker that waits for it.
    with contextlib.suppress(OSError), open(_OOM_SCORE_FILE, "wb") as score:
        score.write(_OOM_SCORE_MAX)
    announcements = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is printed is not a row
    stdin = sys.stdin.buffer
    pickled = _receive(stdin)
    if pickled is None:
        return
    work: DocumentWork = pickle.loads(pickled)

    def announce(value: object) -> None:
        announcements.write(json.dumps(value).encode() + b"\n")
        announcements.flush()

    while (message := _receive(stdin)) is not None:
        (documents,) = pa.ipc.open_stream(message).iter_batches_with_custom_metadata()
        try:
            for step in work(documents.batch):
                announce(step)
        except PenstockError as problem:
            announce({"code": problem.code, "message": problem.message})
            return
        except Exception as failure:
            text = f"the process that probes documents failed: {failure!r}"
            announce({"code": "pipeline.failed", "message": text})
            return
        announce(DONE)


if __name__ == "__main__":
    main()
