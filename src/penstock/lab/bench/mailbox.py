"""``bench mailbox``: opening scattered documents of a mailbox, and exporting a large one.

The tables are written directly, in batches like those of a stream, and compacted as a stream does.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock.lab.bench.process_memory import peak_bytes
from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.workspace import Workspace, bucket_of
from penstock.workspace.commit_positions import ORDINAL_BITS, commit_deliveries, next_commit
from penstock.workspace.compaction import compact
from penstock.workspace.content_digest import content_digest
from penstock.workspace.delta import TableWriter, commit_batch
from penstock.workspace.table_schemas import DELIVERIES, DOCUMENT_LOG

SPARSE: Final = "sparse"
BUSY: Final = "busy"
OPENED: Final = 100
"""Documents of the sparse mailbox that are opened, evenly scattered over it."""

PROCESSES: Final = 5
"""New processes that open them; the median counts."""

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Setting:
    documents: int
    batch: int
    """Documents in a batch."""
    sparse: int
    """Deliveries of the sparse subscriber."""
    busy: int
    others: int
    """Further subscribers, each with as many deliveries as the busy one."""


SETTING: Final = _Setting(documents=205_000, batch=2_000, sparse=267, busy=21_968, others=8)
SETTING_QUICK: Final = _Setting(documents=400, batch=50, sparse=120, busy=200, others=1)


def run(*, quick: bool, progress: Progress) -> Report:
    """Build the tables, open documents in new processes, and export a mailbox."""
    setting = SETTING_QUICK if quick else SETTING
    results = BenchResults()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workspace"
        with Workspace.create(path) as workspace:
            content_bytes = _build(workspace, setting, progress)
            results.figure("documents", setting.documents, "documents")
            results.figure("their size", content_bytes / _MEGABYTE, "MB")
        progress(f"bench mailbox: opening {OPENED} documents")
        opened = [_in_new_process(path) for _ in range(1 if quick else PROCESSES)]
        seconds = statistics.median(each.seconds for each in opened)
        memory = statistics.median(each.bytes for each in opened)
        results.values["open_seconds"] = seconds
        results.values["open_memory"] = memory / _MEGABYTE
        results.figure(
            "reading the headers of that mailbox",
            statistics.median(each.header_seconds for each in opened),
            "s",
        )
        progress(f"bench mailbox: exporting {setting.busy} deliveries")
        started = time.perf_counter()
        _export(path, Path(folder) / "exported")
        elapsed = time.perf_counter() - started
        exported = len(list((Path(folder) / "exported").iterdir()))
        results.figure("exported by `penstock mailbox --export`", exported, "documents")
        results.figure("the same", exported / elapsed, "documents/s")
    return results.report("mailbox", quick=quick)


def _build(workspace: Workspace, setting: _Setting, progress: Progress) -> int:
    """Write documents and deliveries; returns the bytes of the documents."""
    tables = workspace.tables
    tables.create()
    draw = random.Random(15)
    numbers = range(1, setting.documents + 1)
    wanted = {SPARSE: set(draw.sample(numbers, setting.sparse))}
    for subscriber in (BUSY, *(f"other{number}" for number in range(setting.others))):
        wanted[subscriber] = set(draw.sample(numbers, setting.busy))
    size = 0
    batches = range(0, setting.documents, setting.batch)
    for batch, start in enumerate(batches):
        progress(f"bench mailbox: building, batch {batch + 1} of {len(batches)}")
        end = min(start + setting.batch, setting.documents)
        rows = [_document(draw, number + 1, batch) for number in range(start, end)]
        size += sum(len(row["content"]) for row in rows)
        _commit(tables.documents, DOCUMENT_LOG, [({}, rows)], batch, recent=True)
        deliveries = [
            ({"bucket": str(bucket_of(subscriber))}, list(_deliveries(rows, subscriber, chosen)))
            for subscriber, chosen in wanted.items()
        ]
        number = next_commit(tables.deliveries)
        for _, rows_of_one in deliveries:
            for ordinal, row in enumerate(rows_of_one):
                row["position"] = (number << ORDINAL_BITS) + ordinal
        _commit(tables.deliveries, DELIVERIES, deliveries, batch, number)
        compact(tables)
    return size


def _document(draw: random.Random, number: int, batch: int) -> dict[str, Any]:
    words = " ".join(f"{draw.getrandbits(40):x}" for _ in range(draw.randrange(150, 500)))
    content = f"<news><number>{number}</number><body>{words}</body></news>".encode()
    return {
        "document": f"wire/sha256:{hashlib.sha256(content).hexdigest()}",
        "publisher": "wire",
        "schema": "",
        "fields": [("file", f"{number}.xml")],
        "sequence": number,
        "published_at": _START + timedelta(milliseconds=number),
        "content": content,
        "batch": batch,
        "unknown_elements": 0,
    }


def _deliveries(
    rows: list[dict[str, Any]], subscriber: str, chosen: set[int]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["sequence"] in chosen:
            text = f"{row['document']}\x1f{subscriber}"
            yield {
                **{name: row[name] for name in ("document", "publisher", "sequence", "batch")},
                "delivery": hashlib.sha256(text.encode()).hexdigest()[:32],
                "subscriber": subscriber,
                "subscription": f"{subscriber}-1",
                "published_at": row["published_at"],
                "delivered_at": row["published_at"],
                "fragments": None,
                "bucket": bucket_of(subscriber),
                "content_digest": content_digest(row["content"]),
            }


def _commit(
    table: str,
    schema: pa.Schema,
    parts: list[tuple[dict[str, str], list[dict[str, Any]]]],
    batch: int,
    commit: int | None = None,
    *,
    recent: bool = False,
) -> None:
    files = []
    for partition, rows in parts:
        writer = TableWriter(table, schema, partition=partition, recent=recent)
        writer.write(pa.Table.from_pylist(rows, schema=schema))
        files += writer.close()
    if commit is None:
        commit_batch(table, files, stream="bench", batch=batch)
    else:
        commit_deliveries(table, files, stream="bench", batch=batch, commit=commit)


@dataclass(frozen=True, slots=True)
class _Opened:
    header_seconds: float
    seconds: float
    bytes: int
    """The most memory that the process ever had, its libraries included."""


def _in_new_process(path: Path) -> _Opened:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(_open, path).result()


def _open(path: Path) -> _Opened:
    with Workspace.open(path) as workspace:
        box = workspace.mailbox(SPARSE)
        started = time.perf_counter()
        headers = box.deliveries()
        header_seconds = time.perf_counter() - started
        step = max(1, headers.num_rows // OPENED)
        # Not `take`, which would import pandas.
        rows = [headers.slice(row, 1) for row in range(0, headers.num_rows, step)]
        scattered = pa.concat_tables(rows[:OPENED])
        started = time.perf_counter()
        opened = list(box.opened(scattered))
        seconds = time.perf_counter() - started
    assert len(opened) == OPENED
    assert all(delivery.content for delivery in opened)
    return _Opened(header_seconds, seconds, peak_bytes())


def _export(path: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "penstock", "mailbox", BUSY, "--export", str(folder)]
    subprocess.run([*command, "--workspace", str(path)], check=True, capture_output=True)
