"""``bench results``: what a program calls on the result of each document.

Matching is fast only if its results are: a result is created for every document, and its ids, lines
and fragments are read for every match.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

from penstock.documents import Fragment
from penstock.lab.bench.bench_workload import Setting, draw
from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.lab.bench.timing import interleaved
from penstock.matching import Matches
from penstock.matching.line_numbers import Lines
from penstock.matching.results import ResolvedIds

SETTING = Setting(subscriptions=20_000, documents=200, repeats=7)
SETTING_QUICK = Setting(subscriptions=200, documents=4, repeats=1)

LOOKUPS = 10_000
"""Line numbers that are looked up in one document."""

FRAGMENTS_MAX = 2_000
"""Fragments that are converted to XML."""


def run(*, quick: bool, progress: Progress) -> Report:
    """Time the accessors of results, per call or per item."""
    setting = SETTING_QUICK if quick else SETTING
    progress("bench results: generating")
    workload = draw("paths-dense", setting)
    documents = workload.documents
    matcher = workload.index().matcher()
    progress("bench results: matching")
    found = [matcher.match(document) for document in documents]
    ids = sum(map(len, found))
    fragments = [
        fragment
        for document, matches in zip(documents, found, strict=True)
        for selected in matcher.select(document, matches.ids[:10]).values()
        for fragment in selected
    ][:FRAGMENTS_MAX]
    counters = found[0].counters
    largest = max(documents, key=len)
    offsets = [number * 7919 % len(largest) for number in range(LOOKUPS)]
    lines = Lines(largest, "utf-8")
    # A result keeps the ids that it has resolved, so each repeat needs new results.
    unresolved = [
        [matcher.match(document) for document in documents] for _ in range(setting.repeats)
    ]
    sides: dict[str, tuple[Callable[[], object], int]] = {
        "ids": (lambda: [matches.ids for matches in unresolved.pop()], ids),
        "contains": (partial(_contains, found[0], list(found[0].ids)), len(found[0])),
        "construction": (
            lambda: [Matches(ResolvedIds(), counters=counters) for _ in range(LOOKUPS)],
            LOOKUPS,
        ),
        "pickle": (partial(pickle.dumps, found[0]), len(found[0])),
        "line": (lambda: [lines.at(offset) for offset in offsets], LOOKUPS),
        "first_line": (lambda: Lines(largest, "utf-8").at(len(largest) - 1), len(largest)),
        "xml": (partial(_to_xml, fragments), len(fragments)),
    }
    progress("bench results: measuring")
    times = interleaved({name: work for name, (work, _) in sides.items()}, repeats=setting.repeats)
    ns = {name: times[name].median / max(1, count) * 1e9 for name, (_, count) in sides.items()}
    results = BenchResults()
    results.values["ids"] = ns["ids"]
    results.figure("matches per document", ids / len(documents), "")
    results.figure("creating the result of a document", ns["construction"], "ns")
    results.figure("`id in Matches`, per id", ns["contains"], "ns")
    results.figure("pickling a result, per id", ns["pickle"], "ns")
    results.figure("first line number of a document, per byte", ns["first_line"], "ns")
    results.figure("`Lines.at`, per later line number of a document", ns["line"], "ns")
    results.figure("`Fragment.to_xml`, per fragment", ns["xml"], "ns")
    results.figure(
        "bytes per fragment",
        sum(len(piece) for each in fragments for piece in each.pieces) / max(1, len(fragments)),
        "",
    )
    return results.report("results", quick=quick)


def _contains(matches: Matches, ids: list[str]) -> bool:
    return all(id_ in matches for id_ in ids)


def _to_xml(fragments: list[Fragment]) -> int:
    return sum(len(fragment.to_xml()) for fragment in fragments)
