"""Figures 17 and 18, Table 3: what keywords find of what the paths meant that they come from.

*Figures 17 and 18* ask what a broker asks: which documents go to whom. Precision is the share of
the pairs of a document and a keyword query that it meets in which it meets the path too. Recall is
always 1: a document that a path selects anything in has all of its terms.

*Table 3* asks for elements. Of every path the steps before the first named one below the root are
left out (all answers would be the root otherwise, since its name is a keyword). An element is
*relevant* when the first step of what is left selects it in some match of the path: of all elements
it is the lowest that contains everything that this match names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lxml import etree

from penstock.lab.bench.keywords import index_of
from penstock.lab.bench.report import Tell
from penstock.lab.built_in_schemas import SCHEMA_ROOTS
from penstock.lab.experiment_tables import Cell, Chart, Finding
from penstock.lab.kemb.data import DATA_SETS, DataSet, draw_by_words, draw_pairs
from penstock.lab.kemb.scale import Scale
from penstock.lab.keyword_baselines import answer_elements
from penstock.lab.workload import PathAndKeywords, terms
from penstock.matching import SubscriptionIndex

_STEP = re.compile(r"//?[^/\[]+(?:\[[^\]]*\])*")
"""A step with its predicates, as generated: constants have neither slash nor bracket."""

WORDS_MIN = 3
"""Fewest words of a query of Table 3."""


def precision_by_count(scale: Scale, tell: Tell) -> Finding:
    """Figure 17: precision against the number of queries."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        pairs = draw_pairs(data.name, max(scale.query_counts), scale.words_max)
        documents = data.draw_documents(scale.document_bytes, scale.judged_documents)
        for count in scale.query_counts:
            tell(f"lab kemb: precision, {data.name}, {count:,} queries")
            rows.append((data.name, count, *_precision(pairs[:count], documents)))
    return _by("fig17", "Fig. 17: precision, by number of queries", "queries", rows)


def precision_by_words(scale: Scale, tell: Tell) -> Finding:
    """Figure 18: precision against the number of keywords of a query."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        documents = data.draw_documents(scale.document_bytes, scale.judged_documents)
        for words, pairs in draw_by_words(data.name, scale).items():
            tell(f"lab kemb: precision, {data.name}, queries of {words} words")
            rows.append((data.name, words, *_precision(pairs, documents)))
    return _by("fig18", "Fig. 18: precision, by number of keywords", "keywords", rows)


def _by(key: str, title: str, by: str, rows: list[tuple[Cell, ...]]) -> Finding:
    return Finding(
        key,
        title,
        ("data", by, "keyword matches", "path matches", "precision %"),
        tuple(rows),
        ("Of the pairs of a document and a keyword query it meets: those that meet the path.",),
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
        assert meant <= met, "a document that meets a path has all of its terms"
        found += len(met)
        right += len(meant)
    return found, right, 100 * right / found if found else None


def clca_and_slca(scale: Scale, tell: Tell) -> Finding:
    """Table 3: precision and recall of CLCA and of SLCA answers."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        tell(f"lab kemb: Table 3, {data.name}")
        judged = _Judged(data, scale)
        for name, engine in (("CLCA", "postings"), ("SLCA", "slca")):
            rows.append((data.name, name, *judged.by(engine)))
    return Finding(
        "table3",
        "Table 3: precision and recall of elements",
        ("data", "answers", "queries judged", "precision %", "recall %"),
        tuple(rows),
        (
            "Relevant is what the first step of the path selects in some match of the path.",
            "Means over the queries: precision of those that have answers, recall of those of which"
            " anything is relevant; each over all documents together.",
        ),
    )


class _Judged:
    """Queries, documents, and which elements of them are relevant."""

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
        """How many queries were judged, and the means of precision and recall in percent."""
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
    """What is left of a path from its first named step below the root on; ``None`` if nothing.

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
    """A path that selects what the first step of another selects in some match of it.

    >>> relevance("//section[@style = 'wide']//link/*")
    "//section[@style = 'wide'][.//link/*]"
    """
    first, *rest = _STEP.findall(path)
    if not rest:
        return path
    inner = "".join(rest)
    return f"{first}[.{inner}]" if inner.startswith("//") else f"{first}[{inner[1:]}]"


def _relevant(document: bytes, paths: Mapping[str, str]) -> dict[str, set[int]]:
    """The numbers of the relevant elements of each path that has any."""
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
