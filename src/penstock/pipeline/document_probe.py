"""Finds the documents that end a worker process.

A crash in native code or a kill for lack of memory leaves no exception behind: Spark only reports
that a Python worker is gone. After such a failure the driver runs a job of this stage. Each task
processes its documents in a child process, which announces every document before it starts on it.
If the child dies, the announced document is tried again in a new child, and reported if that dies
too. The task itself survives, so one job finds all such documents.
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
from typing import IO, Any, Final, TypeAlias

import pyarrow as pa
from pyspark import cloudpickle

from penstock.documents.failure_report import failure_report
from penstock.errors import error
from penstock.pipeline.batch_matcher import split_by_bytes
from penstock.pipeline.match_stage import delivery_rows
from penstock.pipeline.partition_matcher import PartitionMatcher
from penstock.pipeline.quarantine import FailedDocument
from penstock.pipeline.sequence_numbers import order_keys
from penstock.workspace.content_digest import content_digest

DEATHS_MAX: Final = 2
"""Child processes that a document may end before it is reported."""

FAILED: Final = pa.schema([pa.field("failed", pa.string(), nullable=False)])
"""The stage's output: each document that ended its process, as JSON."""

_LENGTH: Final = struct.Struct("<q")
_OOM_SCORE_FILE: Final = "/proc/self/oom_score_adj"
_OOM_SCORE_MAX: Final = b"1000"


DocumentWork: TypeAlias = Callable[[pa.RecordBatch], None]
"""What is done with each document; it can be pickled. The batches have the columns ``document`` and
``content``."""


@dataclass(frozen=True, slots=True)
class MatchWork:
    """Matches documents, and makes rows of their deliveries. Sent to the workers."""

    matcher: PartitionMatcher

    def __call__(self, documents: pa.RecordBatch) -> None:
        """Match documents."""
        for matched in self.matcher.match(iter([documents])):
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

    def failures(self, documents: pa.RecordBatch) -> Iterator[FailedDocument]:
        """The documents of a batch that end their process twice."""
        start = deaths = 0
        while start < documents.num_rows:
            reached = self._process(documents.slice(start))
            if reached is None:
                return
            status = self._end()
            deaths = deaths + 1 if reached == 0 else 1
            start += reached
            if deaths == DEATHS_MAX:
                yield _failed(documents.slice(start, 1), status)
                start, deaths = start + 1, 0

    def _process(self, documents: pa.RecordBatch) -> int | None:
        """Process documents; ``None`` if the child survives, else the row at which it died."""
        if self._child is None:
            self._child = self._started()
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        row = None
        with contextlib.suppress(BrokenPipeError):
            _send(stdin, _to_bytes(documents))
            while line := stdout.readline():
                if line == b"done\n":
                    return None
                row = int(line)
        if row is None:
            status = _status_text(self._end())
            raise error("pipeline.failed", f"the process that probes documents {status}")
        return row

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
        f"the process of the document {how}, {DEATHS_MAX} times",
        failure_report(content, {"type": "worker", "message": how, "deaths": DEATHS_MAX}),
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
    while (message := _receive(stdin)) is not None:
        (documents,) = pa.ipc.open_stream(message).iter_batches_with_custom_metadata()
        for row in range(documents.batch.num_rows):
            announcements.write(b"%d\n" % row)
            announcements.flush()
            work(documents.batch.slice(row, 1))
        announcements.write(b"done\n")
        announcements.flush()


if __name__ == "__main__":
    main()
