"""Figures 17 and 18 and Table 3: the precision and recall of keyword queries derived from paths.

*Figures 17 and 18* judge the matches of documents. Precision is the share of matching pairs of a
document and a keyword query whose path matches the document too. Recall is always 1, because a
document that matches a path contains all of its terms.

*Table 3* judges elements. Each path is cut before its first named step below the root; otherwise
all answers would be the root, whose name is a keyword. An element is *relevant* if the first
remaining step selects it in some match of the path: it is the lowest element that contains
everything named by that match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lxml import etree

from penstock.lab.bench.keywords import index_of
from penstock.lab.bench.report import Progress
from penstock.lab.built_in_schemas import SCHEMA_ROOTS
from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.kemb.data_sets import DATA_SETS, DataSet, draw_by_words, draw_pairs
from penstock.lab.kemb.scale import Scale
from penstock.lab.keyword_baselines import answer_elements
from penstock.lab.workload import PathAndKeywords, terms
from penstock.matching import SubscriptionIndex

_STEP = re.compile(r"//?[^/\[]+(?:\[[^\]]*\])*")
"""A generated step with its predicates; constants have no slashes or brackets."""

WORDS_MIN = 3
"""Minimum number of words of a query of Table 3."""


def precision_by_count(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Figure 17: precision by number of queries."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        pairs = draw_pairs(data.name, max(scale.query_counts), scale.words_max)
        documents = data.draw_documents(scale.document_bytes, scale.judged_documents)
        for count in scale.query_counts:
            progress(f"lab kemb: precision, {data.name}, {count:,} queries")
            rows.append((data.name, count, *_precision(pairs[:count], documents)))
    return _by("fig17", "Fig. 17: precision, by number of queries", "queries", rows)


def precision_by_words(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Figure 18: precision by number of keywords per query."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        documents = data.draw_documents(scale.document_bytes, scale.judged_documents)
        for words, pairs in draw_by_words(data.name, scale).items():
            progress(f"lab kemb: precision, {data.name}, queries of {words} words")
            rows.append((data.name, words, *_precision(pairs, documents)))
    return _by("fig18", "Fig. 18: precision, by number of keywords", "keywords", rows)


def _by(key: str, title: str, by: str, rows: list[tuple[Cell, ...]]) -> ResultTable:
    return ResultTable(
        key,
        title,
        ("data", by, "keyword matches", "path matches", "precision %"),
        tuple(rows),
        ("Precision: the share of pairs of a document and a matching query whose path matches.",),
        Chart("data", by, ("precision %",), "precision (%)"),
    )


def _precision(
    pairs: Sequence[PathAndKeywords], documents: Sequence[bytes]
) -> tuple[int, int, float | None]:
    keywords = index_of([pair.keywords for pair in pairs]).matcher()
    index = SubscriptionIndex()
    index.add_many([f"q{number}" for number in range(len(pairs))], [pair.path for pair in pairs])
    paths = index.matcher()
    found = right = 0
    for document in documents:
        met, meant = set(keywords.match(document).ids), set(paths.match(document).ids)
        assert meant <= met, "a document that matches a path contains all of its terms"
        found += len(met)
        right += len(meant)
    return found, right, 100 * right / found if found else None


def clca_and_slca(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Table 3: precision and recall of CLCA and SLCA answers."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        progress(f"lab kemb: Table 3, {data.name}")
        judged = _Judged(data, scale)
        for name, engine in (("CLCA", "postings"), ("SLCA", "slca")):
            rows.append((data.name, name, *judged.by(engine)))
    return ResultTable(
        "table3",
        "Table 3: precision and recall of elements",
        ("data", "answers", "queries judged", "precision %", "recall %"),
        tuple(rows),
        (
            "An element is relevant if the first step of the path selects it in some match.",
            "Means over queries, each over all documents: precision over the queries with answers,"
            " recall over the queries with relevant elements.",
        ),
    )


class _Judged:
    """Queries, documents, and the relevant elements of each document."""

    def __init__(self, data: DataSet, scale: Scale) -> None:
        drawn = draw_pairs(data.name, max(scale.query_counts), scale.words_max)
        root = SCHEMA_ROOTS[data.name]
        tails = dict.fromkeys(tail for pair in drawn if (tail := below_root(pair.path, root)))
        self._paths = [tail for tail in tails if len(terms(tail)) >= WORDS_MIN]
        del self._paths[scale.judged_queries :]
        self._documents = data.draw_documents(scale.document_bytes, scale.judged_documents)
        self._index = index_of([" ".join(sorted(terms(path))) for path in self._paths])
        matcher = self._index.matcher()
        self._relevant = [
            _relevant(document, {id_: self._paths[int(id_[1:])] for id_ in matcher.match(document)})
            for document in self._documents
        ]

    def by(self, engine: str) -> tuple[int, float, float]:
        """The number of judged queries, and mean precision and recall in percent."""
        matcher = self._index.matcher(engine=engine)
        right: dict[str, int] = {}
        answered: dict[str, int] = {}
        relevant: dict[str, int] = {}
        for document, wanted in zip(self._documents, self._relevant, strict=True):
            for id_, numbers in answer_elements(matcher, document).items():
                answered[id_] = answered.get(id_, 0) + len(numbers)
                right[id_] = right.get(id_, 0) + len(wanted.get(id_, set()) & set(numbers))
            for id_, elements in wanted.items():
                relevant[id_] = relevant.get(id_, 0) + len(elements)
        precision = [right[id_] / count for id_, count in answered.items()]
        recall = [right.get(id_, 0) / count for id_, count in relevant.items()]
        return len(answered), _percent(precision), _percent(recall)


def below_root(path: str, root: str) -> str | None:
    """The rest of a path from its first named step below the root; ``None`` if there is none.

    >>> below_root("/news/*/section[@style = 'wide']//link", "news")
    "//section[@style = 'wide']//link"
    """
    steps: list[str] = _STEP.findall(path)
    for position, step in enumerate(steps):
        name = step.lstrip("/").partition("[")[0]
        if name not in {"*", root}:
            return "//" + step.lstrip("/") + "".join(steps[position + 1 :])
    return None


def relevance(path: str) -> str:
    """A path that selects what the first step of ``path`` selects in its matches.

    >>> relevance("//section[@style = 'wide']//link/*")
    "//section[@style = 'wide'][.//link/*]"
    """
    first, *rest = _STEP.findall(path)
    if not rest:
        return path
    inner = "".join(rest)
    return f"{first}[.{inner}]" if inner.startswith("//") else f"{first}[{inner[1:]}]"


def _relevant(document: bytes, paths: Mapping[str, str]) -> dict[str, set[int]]:
    """The numbers of the relevant elements, by id of the path; paths without any are omitted."""
    root = etree.fromstring(document)
    elements = list(root.iter(etree.Element))
    numbers = {element: number for number, element in enumerate(elements)}
    tree = root.getroottree()
    found: dict[str, set[int]] = {}
    for id_, path in paths.items():
        selected = tree.xpath(relevance(path))
        assert isinstance(selected, list), "a path selects elements"
        if selected:
            found[id_] = {numbers[each] for each in selected if isinstance(each, etree._Element)}
    return found


def _percent(shares: Sequence[float]) -> float:
    return 100 * sum(shares) / len(shares) if shares else 0.0
