"""``bench index``: building, saving and changing an index of a million subscriptions."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from penstock.lab.bench.bench_workload import Setting, draw
from penstock.lab.bench.process_memory import resident_bytes
from penstock.lab.bench.report import Figure, Progress, Report
from penstock.lab.bench.timing import once
from penstock.matching import SubscriptionIndex

ADDED = 1_000
"""Subscriptions added to a warm index."""

SETTING = Setting(subscriptions=1_000_000, documents=200, repeats=3)
SETTING_QUICK = Setting(subscriptions=2_000, documents=5, repeats=2)


def run(*, quick: bool, progress: Progress) -> Report:
    """Build an index of the sparse workload, save it, load it and add to it."""
    setting = SETTING_QUICK if quick else SETTING
    progress("bench index: generating")
    count = setting.subscriptions
    workload = draw("paths-sparse", setting, extra=ADDED * setting.repeats)
    ids, queries = workload.ids[:count], workload.queries[:count]
    build_seconds = []
    memory_before = resident_bytes()
    for turn in range(setting.repeats):
        progress(f"bench index: building, {turn + 1} of {setting.repeats}")
        index = SubscriptionIndex()
        build_seconds.append(once(partial(_build, index, ids, queries)))
    memory = resident_bytes() - memory_before
    build = statistics.median(build_seconds)

    progress("bench index: saving and loading")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "subscriptions.index"
        save_seconds = once(partial(index.save, path))
        saved_bytes = path.stat().st_size
        load_seconds = once(lambda: SubscriptionIndex.load(path).matcher())

    progress("bench index: changing")
    matcher = index.matcher()
    for document in workload.documents:
        matcher.match(document)
    change_seconds = []
    for turn in range(setting.repeats):
        added = slice(count + turn * ADDED, count + (turn + 1) * ADDED)
        change_seconds.append(
            once(
                partial(
                    _change,
                    index,
                    workload.ids[added],
                    workload.queries[added],
                    workload.documents[turn],
                )
            )
        )
    change = statistics.median(change_seconds)
    return Report.on_this_machine(
        "index",
        quick=quick,
        figures=(
            Figure("subscriptions", count, ""),
            Figure("build", build, "s"),
            Figure("save", save_seconds, "s"),
            Figure("load and create a matcher", load_seconds, "s"),
            Figure("memory after the last build, per subscription", memory / count, "bytes"),
        ),
        values={"build": build / count * 1e6, "saved": saved_bytes / count, "change": change},
    )


def _change(
    index: SubscriptionIndex, ids: Sequence[str], queries: Sequence[str], document: bytes
) -> None:
    index.add_many(ids, queries)
    index.matcher().match(document)


def _build(index: SubscriptionIndex, ids: Sequence[str], queries: Sequence[str]) -> None:
    # Creating the first matcher indexes what was added, so that counts as building.
    errors = index.add_many(ids, queries)
    assert not errors, next(iter(errors.values()))
    index.matcher()
