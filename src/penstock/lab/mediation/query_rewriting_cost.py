"""The cost of query rewriting, the rejected alternative: space, and work at every change."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from penstock.errors import MappingError
from penstock.lab.bench.report import Progress
from penstock.lab.bench.timing import once
from penstock.lab.catalogues import CATALOGUES, Catalogue
from penstock.lab.catalogues.rewritten_documents import index_of
from penstock.lab.catalogues.subscriptions import subscriptions
from penstock.lab.experiment_tables import ResultTable
from penstock.lab.mediation.querying_time import SEED
from penstock.lab.mediation.scale import Scale
from penstock.language import Query, parse, to_text
from penstock.mediation import Mapping, QueryRewriter


@dataclass(frozen=True, slots=True)
class RewrittenQueries:
    """Subscriptions rewritten for one local schema."""

    texts: tuple[str, ...]
    never: int
    """Subscriptions that no document of the schema can match; they are not installed."""
    refused: int
    """Subscriptions that cannot be expressed in the local schema."""
    seconds: float


def rewrite_all(one: Catalogue, queries: list[Query]) -> RewrittenQueries:
    """Rewrite the queries that a router installs for one publisher."""
    begin = perf_counter()
    rewriter = QueryRewriter(one.mapping)
    texts: list[str] = []
    never = refused = 0
    for query in queries:
        try:
            found = rewriter.rewrite(query)
        except MappingError:
            refused += 1
            continue
        if found is None:
            never += 1
        else:
            texts.append(str(to_text(found)))
    return RewrittenQueries(tuple(texts), never, refused, perf_counter() - begin)


def rewriting_cost(scale: Scale, progress: Progress) -> ResultTable:
    """Measure the space at a router, and the cost of a new subscription and of a new publisher."""
    texts = subscriptions(scale.rewritten_subscriptions, SEED)
    queries = [parse(text) for text in texts]
    catalogues = CATALOGUES[: scale.catalogues]
    found = []
    for one in catalogues:
        progress(f"lab mediation: queries rewritten for {one.name}")
        found.append(rewrite_all(one, queries))
    progress("lab mediation: queries rewritten, indexes")
    last = found[-1]
    one_index = _saved_bytes(texts)
    all_indexes = one_index + sum(_saved_bytes(each.texts) for each in found)
    building = once(lambda: index_of(last.texts).matcher())
    mapping_texts = [one.mapping.to_text() for one in catalogues]
    reading = once(lambda: [Mapping.from_text(text) for text in mapping_texts]) / len(found)
    seconds = sum(each.seconds for each in found)
    rows = (
        ("subscriptions", len(texts), len(texts) + sum(len(each.texts) for each in found)),
        ("their text, bytes", _size(texts), _size(texts) + sum(_size(e.texts) for e in found)),
        ("indexes, bytes", one_index, all_indexes),
        ("mappings, bytes", _size(mapping_texts), 0),
        ("match no document of a schema", 0, sum(each.never for each in found)),
        ("cannot be expressed", 0, sum(each.refused for each in found)),
        ("a new subscription, queries to install", 1, _installed(found, len(texts))),
        ("a new subscription, ms to rewrite", 0, seconds / len(texts) * 1e3),
        ("a new publisher, queries to install", 0, sum(len(e.texts) for e in found) / len(found)),
        ("a new publisher, ms", reading * 1e3, (seconds / len(found) + building) * 1e3),
    )
    return ResultTable(
        "qra",
        f"Query rewriting: {len(found)} schemas, {len(texts):,} subscriptions at a router",
        ("what", "data rewriting", "query rewriting"),
        rows,
        (
            "Query rewriting also stores the original subscriptions, for new publishers.",
            "A new publisher: a mapping is parsed, or all subscriptions are rewritten and indexed.",
        ),
    )


def _installed(found: list[RewrittenQueries], count: int) -> float:
    return 1 + sum(len(each.texts) for each in found) / count


def _size(texts: list[str] | tuple[str, ...]) -> int:
    return sum(len(text.encode()) for text in texts)


def _saved_bytes(texts: list[str] | tuple[str, ...]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "subscriptions.index"
        index_of(texts).save(path)
        return path.stat().st_size
