"""``bench sync``: the search for affected subscriptions, and the updates of a server and of a
stream."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from lxml import etree

from penstock.lab.bench.bench_workload import SEED, BenchWorkload, Setting, draw
from penstock.lab.bench.process_memory import resident_bytes
from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.lab.bench.sync_stream import measure_stream
from penstock.lab.bench.sync_updates import measure_updates
from penstock.lab.bench.timing import interleaved, once
from penstock.language import parse
from penstock.language.relations.native_pairs import compiled
from penstock.language.relations.path_universe import Name
from penstock.sync.affected import AffectedIndex, Change, ContentNode, LabelPath, TouchedNode

FEW = 1_000
"""Subscriptions of the small index, with the same results."""

FOUND_MAX = 500
"""Subscriptions that a compared operation affects, so that they fit into the small index."""

CHANGED = 1_000
"""Subscriptions added and removed."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the benchmark."""

    setting: Setting
    changes: int
    """Operations that are searched for."""
    compared: int
    """Operations that are compared with the small index."""
    related: int
    """Subscriptions that are tested one by one; the time of all is extrapolated."""


FULL = Size(
    setting=Setting(subscriptions=1_000_000, documents=20, repeats=5),
    changes=400,
    compared=40,
    related=20_000,
)
QUICK = Size(
    setting=Setting(subscriptions=3_000, documents=3, repeats=2),
    changes=40,
    compared=5,
    related=200,
)


def run(*, quick: bool, progress: Progress) -> Report:
    """Search for those affected by operations on the documents of a workload."""
    size = QUICK if quick else FULL
    results = BenchResults()
    progress("bench sync: generating")
    workload = draw("paths-sparse", size.setting, extra=CHANGED)
    changes = list(changes_of(workload.documents, size.changes))
    measure_search(workload, changes, size, results, progress)
    measure_updates(results, progress, quick=quick)
    del workload, changes  # the stream's workers need the memory
    measure_stream(results, progress, quick=quick)
    return results.report("sync", quick=quick)


def measure_search(
    workload: BenchWorkload,
    changes: Sequence[Change],
    size: Size,
    results: BenchResults,
    progress: Progress,
) -> None:
    """Operations and time of searches."""
    count = size.setting.subscriptions
    ids, queries = workload.ids[:count], workload.queries[:count]
    progress(f"bench sync: building an index of {count:,} subscriptions")
    before = resident_bytes()
    index = AffectedIndex()
    seconds = once(partial(index.add_many, ids, queries))
    results.figure("build, per subscription", seconds * 1e6 / count, "µs")
    memory = resident_bytes() - before
    results.figure("memory, per subscription, ids included", memory / count, "bytes")

    progress("bench sync: first searches")
    seconds = once(partial(_search_all, index, changes))
    results.figure("first searches, per operation", seconds * 1e6 / len(changes), "µs")
    first = [_first_operations(index, change) for change in changes[: size.compared]]
    index_found = [len(index.affected(change)) for change in changes]
    results.figure("affected, mean of the operations", statistics.fmean(index_found), "")
    results.figure("affected, median of the operations", statistics.median(index_found), "")

    progress(f"bench sync: the same results among {FEW:,} subscriptions")
    growth = _growth(index, workload, changes, size)
    results.values["growth"] = growth
    results.figure("nothing cached: operations of the median search", statistics.median(first), "")

    progress("bench sync: testing each subscription")
    _search_all(index, changes)
    relate = _relation_seconds(queries, changes, size)
    timed = interleaved(
        {"handles": partial(_search_all, index, changes), "ids": partial(_ids_all, index, changes)},
        repeats=size.setting.repeats,
    )
    per_search = {name: each.median / len(changes) for name, each in timed.items()}
    results.values["speedup"] = relate / per_search["handles"]
    results.figure("search, from the change to handles", per_search["handles"] * 1e6, "µs")
    results.figure("search, from the change to ids", per_search["ids"] * 1e6, "µs")
    results.figure("testing each with `overlaps`, native", relate * 1e3, "ms")
    spread = max(each.spread for each in timed.values())
    results.figure("slowest repeat divided by the fastest", spread, "x")

    unknown = [Change.delete(change.touches[0].path) for change in changes[: size.compared]]
    _search_all(index, unknown)
    found = [len(index.affected(change)) for change in unknown]
    seconds = once(partial(_search_all, index, unknown)) / len(unknown)
    results.figure("content unknown: affected, mean", statistics.fmean(found), "")
    results.figure("content unknown: search", seconds * 1e6, "µs")

    progress("bench sync: subscriptions come and go")
    added = workload.ids[count:], workload.queries[count:]
    seconds = once(partial(_add_and_search, index, added, changes[0]))
    what = f"{CHANGED:,} subscriptions added, and the next search"
    results.figure(what, seconds * 1e3, "ms")
    seconds = once(partial(_remove_and_search, index, added[0], changes[0]))
    what = f"{CHANGED:,} subscriptions removed, and the next search"
    results.figure(what, seconds * 1e3, "ms")


def _search_all(index: AffectedIndex, changes: Sequence[Change]) -> int:
    return sum(len(index.affected(change)) for change in changes)


def _ids_all(index: AffectedIndex, changes: Sequence[Change]) -> int:
    return sum(len(index.affected(change).ids) for change in changes)


def _first_operations(index: AffectedIndex, change: Change) -> int:
    index.clear_cache()
    return index.affected(change).work.operations


def _growth(
    index: AffectedIndex, workload: BenchWorkload, changes: Sequence[Change], size: Size
) -> float:
    """Operations of the same results among all subscriptions and among few, as a ratio."""
    operations = {"all": 0, "few": 0}
    compared = 0
    for change in changes:
        index.affected(change)
        found = index.affected(change)
        if not 0 < len(found) <= min(FOUND_MAX, FEW):
            continue
        reduced = workload.reduced_to(found.ids, FEW)
        small = AffectedIndex()
        small.add_many(reduced.ids, reduced.queries)
        small.affected(change)
        again = small.affected(change)
        # Equal, unless one of the subscriptions beside them is affected too.
        assert set(found.ids) <= set(again.ids)
        if len(again) != len(found):
            continue
        operations["all"] += found.work.operations
        operations["few"] += again.work.operations
        compared += 1
        if compared == size.compared:
            break
    assert operations["few"], "some operation affects few subscriptions"
    return operations["all"] / operations["few"]


def _relation_seconds(queries: Sequence[str], changes: Sequence[Change], size: Size) -> float:
    """Seconds to test all subscriptions for overlap with the path of an operation."""
    tested = [compiled(parse(query)) for query in queries[: size.related]]
    paths = [
        compiled(parse("/" + "/".join(local for _, local in change.touches[0].path)))
        for change in changes[: size.setting.repeats]
    ]
    times = []
    for path in paths:
        begin = perf_counter()
        for each in tested:
            each.overlaps(path)
        times.append(perf_counter() - begin)
    return statistics.median(times) * len(queries) / len(tested)


def _add_and_search(
    index: AffectedIndex, added: tuple[Sequence[str], Sequence[str]], change: Change
) -> None:
    refused = index.add_many(*added)
    assert not refused
    index.affected(change)


def _remove_and_search(index: AffectedIndex, ids: Sequence[str], change: Change) -> None:
    for each in ids:
        index.remove(each)
    index.affected(change)


def changes_of(documents: Sequence[bytes], count: int) -> Iterator[Change]:
    """Operations on elements of documents: what an editor of the feed would do."""
    chance = random.Random(SEED)
    elements = [
        element
        for document in documents
        for element in etree.fromstring(document).iter()
        if isinstance(element.tag, str) and element.getparent() is not None
    ]
    names = sorted({_name(element) for element in elements})
    for element in chance.choices(elements, k=count):
        path = _path(element)
        content = _content(element)
        kind = chance.choice(("text", "attribute", "delete", "insert", "rename", "move"))
        if kind == "text":
            yield Change.text(path)
        elif kind == "attribute":
            attributes = [_split(key) for key in element.attrib] or [("", "id")]
            yield Change.attribute(path, chance.choice(attributes))
        elif kind == "delete":
            yield Change.delete(path, content=content)
        elif kind == "insert":
            yield Change.insert((*path, chance.choice(names)), content=[])
        elif kind == "rename":
            yield Change.rename(path, chance.choice(names), content=content)
        else:
            yield Change.move(path, path, content=content)


def _path(element: etree._Element) -> LabelPath:
    above = [_name(each) for each in element.iterancestors()]
    return (*reversed(above), _name(element))


def _name(element: etree._Element) -> Name:
    return _split(str(element.tag))


def _split(tag: object) -> Name:
    found = etree.QName(str(tag))
    return found.namespace or "", found.localname


def _content(element: etree._Element) -> list[ContentNode]:
    """The nodes below an element, each label path once."""
    depth = len(_path(element))
    found: dict[ContentNode, None] = {}
    for each in element.iter():
        if not isinstance(each.tag, str):
            continue
        path = _path(each)[depth:]
        if path:
            found[ContentNode(path)] = None
        for key in each.attrib:
            found[ContentNode(path, TouchedNode.ATTRIBUTE, _split(key))] = None
        if each.text or any(child.tail for child in each):
            found[ContentNode(path, TouchedNode.TEXT)] = None
    return list(found)
