"""The workloads of ``count_instructions.py``, run by the version of Penstock on ``PYTHONPATH``.

``python instruction_workloads.py build INPUTS INDEXES`` saves the indexes. ``... run INPUTS INDEXES
NAME ...`` runs workloads under Callgrind. Both use only names that older versions of Penstock have
too, because the same script counts the versions before and after a change.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import penstock
from penstock import KeywordIndex, KeywordMatcher, Mapping, Matcher, SubscriptionIndex
from penstock.documents import RecordCutter, read_summary
from penstock.mediation import MediatedMatcher

PATH_INPUTS: Final = ("paths-sparse", "paths-dense", "paths-hard", "paths-deep", "mediation")
KEYWORD_INPUTS: Final = ("keywords-words", "keywords-paths")

BUILT: Final = 20_000
"""Queries that are added where building an index is counted."""

ANSWERED: Final = 100
"""Subscriptions of a document that are answered in detail, of about a thousand that match."""

SELECTED: Final = 30
"""Subscriptions whose fragments are selected through a mapping, of about five hundred."""

PASSES: Final = 3
"""The first is cold, the second fills the caches that are still growing, the last is warm."""


@dataclass(frozen=True)
class Input:
    """One input file, and the index of its queries."""

    path: Path
    index_path: Path

    @cached_property
    def content(self) -> dict[str, list[str]]:
        """Queries, documents and mappings."""
        content: dict[str, list[str]] = json.loads(self.path.read_text(encoding="utf-8"))
        return content

    @property
    def documents(self) -> list[bytes]:
        """The documents."""
        return [text.encode() for text in self.content["documents"]]

    @property
    def queries(self) -> list[str]:
        """The queries."""
        return self.content["queries"]

    @property
    def ids(self) -> list[str]:
        """An id for each query, different from those of every other input."""
        return [f"{self.path.stem}-{number}" for number in range(len(self.queries))]

    def paths(self) -> Matcher:
        """A new matcher, with empty caches."""
        return SubscriptionIndex.load(self.index_path).matcher()

    def keywords(self) -> KeywordMatcher:
        """A new matcher, with empty caches."""
        return KeywordIndex.load(self.index_path).matcher()


@dataclass(frozen=True)
class Task:
    """The work of one pass over the inputs."""

    run: Callable[[], int]
    """Returns the size of the result, which must not change from version to version."""
    units: int
    """Documents or subscriptions that a pass processes."""


Find = Callable[[str], Input]
"""Opens an input by name."""


def reading(find: Find) -> Task:
    """The reader alone, on one large document, so that what each call costs does not count."""
    documents = find("paths-sparse").documents
    roots = [document[document.index(b"?>") + 2 :] for document in documents]
    joined = b"<documents>" + b"".join(roots) + b"</documents>"
    return Task(lambda: read_summary(joined).elements, len(documents))


def cutting_records(find: Find) -> Task:
    """Cutting two large documents into records."""
    documents = find("records").documents
    steps = ((None, None), (None, None))

    def cut() -> int:
        cutters = [RecordCutter([document], steps) for document in documents]
        return sum(len(batch) for cutter in cutters for batch in cutter.batches())

    return Task(cut, cut())


def matching_paths(name: str, find: Find) -> Task:
    """XPath subscriptions, one batch."""
    given = find(name)
    return _batch(given.paths(), given.documents)


def matching_single(find: Find) -> Task:
    """XPath subscriptions, one call per document."""
    given = find("paths-sparse")
    documents, matcher = given.documents, given.paths()
    return Task(lambda: sum(len(matcher.match(document)) for document in documents), len(documents))


def matching_keywords(name: str, find: Find) -> Task:
    """Keyword subscriptions, one batch."""
    given = find(name)
    return _batch(given.keywords(), given.documents)


def matching_combined(find: Find) -> Task:
    """XPath and keyword subscriptions in one reading."""
    paths, keywords = find("paths-sparse"), find("keywords-words")
    return _batch(_combined(paths.paths(), keywords.keywords()), keywords.documents)


def matching_mediated(find: Find) -> Task:
    """XPath subscriptions to a global schema, through mappings."""
    given = find("mediation")
    return _mediated(given.paths(), given)


def matching_mediated_combined(find: Find) -> Task:
    """XPath subscriptions through mappings, and keyword subscriptions in the same reading."""
    given = find("mediation")
    return _mediated(_combined(given.paths(), find("keywords-words").keywords()), given)


def path_fragments(find: Find) -> Task:
    """Matching, and the fragments that XPath subscriptions select."""
    given = find("paths-sparse")
    return _fragments(given.paths(), given.documents[:10])


def keyword_fragments(find: Find) -> Task:
    """Matching, and the fragments of keyword subscriptions."""
    given = find("keywords-words")
    return _fragments(given.keywords(), given.documents[:2])


def keyword_answers(find: Find) -> Task:
    """Detailed answers to keyword subscriptions that are known to match."""
    given = find("keywords-paths")
    matcher = given.keywords()
    matched = [
        (document, matcher.match(document).ids[:ANSWERED]) for document in given.documents[:2]
    ]

    def answer() -> int:
        return sum(
            len(answers)
            for document, ids in matched
            for answers in matcher.answers(document, ids).values()
        )

    return Task(answer, len(matched))


def mediated_fragments(find: Find) -> Task:
    """Fragments of original documents for subscriptions that match through mappings."""
    given = find("mediation")
    mediated = MediatedMatcher(given.paths())
    pairs = list(zip(given.documents, _mappings(given), strict=True))[:10]
    matched = [
        (document, mapping, mediated.match(document, mapping).ids[:SELECTED])
        for document, mapping in pairs
    ]

    def select() -> int:
        return sum(
            len(fragments)
            for document, mapping, ids in matched
            for fragments in mediated.select(document, mapping, ids).values()
        )

    return Task(select, len(matched))


def building_paths(find: Find) -> Task:
    """Adding XPath subscriptions to an index, up to its first matcher."""
    return _building(SubscriptionIndex, find("paths-sparse"))


def building_keywords(find: Find) -> Task:
    """Adding keyword subscriptions to an index, up to its first matcher."""
    return _building(KeywordIndex, find("keywords-words"))


def _building(kind: type[SubscriptionIndex | KeywordIndex], given: Input) -> Task:
    ids, queries = given.ids[:BUILT], given.queries[:BUILT]

    def build() -> int:
        index = kind()
        errors = index.add_many(ids, queries)
        assert not errors, next(iter(errors.values()))
        index.matcher()
        return len(index)

    return Task(build, len(ids))


def _batch(matcher: Matcher, documents: Sequence[bytes]) -> Task:
    rows: pa.Array[Any] = pa.array(documents, pa.large_binary())
    return Task(lambda: matcher.match_batch(rows).counters.matches, len(documents))


def _mediated(matcher: Matcher, given: Input) -> Task:
    rows: pa.Array[Any] = pa.array(given.documents, pa.large_binary())
    mediated, mappings = MediatedMatcher(matcher), _mappings(given)
    return Task(lambda: mediated.match_batch(rows, mappings).counters.matches, len(rows))


def _fragments(matcher: Matcher, documents: Sequence[bytes]) -> Task:
    def match() -> int:
        return sum(
            _fragment_count(matcher.match(document, fragments=True)) for document in documents
        )

    return Task(match, len(documents))


def _fragment_count(matches: penstock.Matches) -> int:
    return sum(map(len, matches.fragments.values()))


def _mappings(given: Input) -> list[Mapping]:
    return [Mapping.from_text(text) for text in given.content["mappings"]]


def _combined(paths: Matcher, keywords: Matcher) -> Matcher:
    """Both matchers as one; the function that combines them was once called ``both``."""
    names = [name for name in ("combine_matchers", "both") if hasattr(penstock, name)]
    matcher = getattr(penstock, names[0])(paths, keywords)
    assert isinstance(matcher, Matcher)
    return matcher


WORKLOADS: Final[dict[str, Callable[[Find], Task]]] = {
    "read": reading,
    "records": cutting_records,
    **{name: partial(matching_paths, name) for name in PATH_INPUTS if name != "mediation"},
    "paths-single": matching_single,
    "paths-fragments": path_fragments,
    **{name: partial(matching_keywords, name) for name in KEYWORD_INPUTS},
    "keywords-fragments": keyword_fragments,
    "keywords-answers": keyword_answers,
    "combined": matching_combined,
    "mediation": matching_mediated,
    "mediation-combined": matching_mediated_combined,
    "mediation-fragments": mediated_fragments,
    "build-paths": building_paths,
    "build-keywords": building_keywords,
}
"""All workloads by name."""


def build(find: Find) -> None:
    """Save the index of every input that has queries."""
    for names, kind in ((PATH_INPUTS, SubscriptionIndex), (KEYWORD_INPUTS, KeywordIndex)):
        for name in names:
            given = find(name)
            index = kind()
            errors = index.add_many(given.ids, given.queries)
            assert not errors, next(iter(errors.values()))
            index.save(given.index_path)


def run(find: Find, names: Sequence[str]) -> None:
    """Run each workload in a fork of this process, so that none depends on those before it."""
    print(json.dumps({"penstock": penstock.__file__}), flush=True)
    gc.disable()  # a collection would be counted wherever it happens to start
    for name in names:
        pid = os.fork()
        if pid == 0:
            passes(name, WORKLOADS[name](find))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"the workload {name} failed"


def passes(name: str, task: Task) -> None:
    """Make the passes, with a mark before each and after the last."""
    results = set()
    for _ in range(PASSES):
        mark()
        results.add(task.run())
    mark()
    (result,) = results
    line = {"workload": name, "pid": os.getpid(), "units": task.units, "result": result}
    print(json.dumps(line), flush=True)


def mark() -> None:
    """Make Callgrind write its counters and reset them.

    Callgrind runs with ``--dump-before=ctermid``. Nothing else here calls that C function.
    """
    os.ctermid()


def main() -> None:
    """Run a stage: see the module's documentation."""
    stage, inputs, indexes, *names = sys.argv[1:]

    def find(name: str) -> Input:
        return Input(Path(inputs, f"{name}.json"), Path(indexes, f"{name}.index"))

    if stage == "build":
        build(find)
    else:
        run(find, names)


if __name__ == "__main__":
    main()
