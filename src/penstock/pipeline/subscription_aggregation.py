"""Aggregates subscriptions, and computes their containment order, on Spark.

The result is that of :meth:`penstock.routing.AggregatedSet.build`, without refinements, and of
:func:`penstock.routing.containment_order`. Blocks are aggregated in parallel, and then their
patterns, whose number is bounded, in one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.errors import QueryError, error
from penstock.pipeline.limits import CONTAINMENT_TASKS, PARSED_PATTERNS_MAX
from penstock.routing import MergeForest, Merger, Pattern, PatternNode, SampledDocuments
from penstock.routing.blocks import aggregate_block, block_bound, block_of
from penstock.routing.containment_order import FixedOrder
from penstock.routing.limits import AGGREGATE_NODES_MAX


def _schema_of(**types: pa.DataType) -> pa.Schema:
    """A schema of columns with these types."""
    return pa.schema(types)


PATTERNS: Final = _schema_of(
    subscription=pa.string(),
    pattern=pa.string(),
    size=pa.int32(),
    block=pa.string(),
    code=pa.string(),
    message=pa.string(),
)
"""One row per subscription: its pattern, or the code and message of the error."""

_BLOCK_ROOTS: Final = _schema_of(
    pattern=pa.string(),
    root=pa.string(),
    is_merged=pa.bool_(),
    member_bits=pa.binary(),
    bits=pa.binary(),
)
"""One row per pattern: the root of its block that contains it, and that root's properties."""

_FINAL_ROOTS: Final = _schema_of(
    root=pa.string(),
    aggregate=pa.string(),
    size=pa.int32(),
    is_exact=pa.bool_(),
)
"""One row per root of a block: the pattern of the aggregate that contains it."""

_CONTAINERS: Final = _schema_of(
    contained=pa.string(),
    containers=pa.list_(pa.struct([("container", pa.string()), ("is_direct", pa.bool_())])),
)
"""One row per pattern that others contain. A list repeats the contained pattern less often than
pairs do."""


@dataclass(frozen=True, slots=True)
class SubscriptionAggregate:
    """The aggregate of a table of subscriptions."""

    patterns: DataFrame
    """One row per pattern of the aggregate: ``pattern`` (its key, see
    :meth:`penstock.routing.Pattern.from_key`), ``size``, ``is_exact`` and ``members``, their
    number."""
    members: DataFrame
    """One row per valid subscription: ``subscription`` and the ``pattern`` that contains it."""
    cached: tuple[DataFrame, ...] = ()
    """Cached tables from which both are computed; see :meth:`unpersist`."""

    def unpersist(self) -> None:
        """Release the cached tables. What is computed afterwards aggregates again."""
        for table in self.cached:
            table.unpersist()


def subscription_patterns(subscriptions: DataFrame) -> DataFrame:
    """Parse and minimise subscriptions.

    The other functions of this module take the result, which is worth caching.

    Parameters
    ----------
    subscriptions
        A DataFrame with the columns ``subscription``, ``kind`` (``xpath`` or ``keywords``) and
        ``query``, and optionally ``namespaces``, ``default_namespace`` and ``where``, as in
        :data:`penstock.workspace.table_schemas.SUBSCRIPTIONS`.

    Returns
    -------
    One row per subscription, in columns :data:`PATTERNS`: ``pattern``, ``size`` and ``block``, or
    for an invalid query its error in ``code`` and ``message``.

    Raises
    ------
    PipelineError
        ``pipeline.columns``.
    """
    missing = {"subscription", "kind", "query"} - set(subscriptions.columns)
    if missing:
        raise error("pipeline.columns", f"no column {', '.join(sorted(missing))}")
    known = ("subscription", "kind", "query", "namespaces", "default_namespace", "where")
    used = subscriptions.select(*(name for name in known if name in subscriptions.columns))
    return used.mapInArrow(_parsed_batches, from_arrow_schema(PATTERNS))


def aggregate_subscriptions(
    patterns: DataFrame,
    *,
    bound: int = AGGREGATE_NODES_MAX,
    sample: SampledDocuments | None = None,
) -> SubscriptionAggregate:
    """Aggregate subscriptions under a bound on pattern nodes.

    Parameters
    ----------
    patterns
        The result of :func:`subscription_patterns`; rows with an error are omitted.
    bound
        Pattern nodes of the aggregate, at least 1.
    sample
        Documents on which precision is estimated; they are sent to every task.

    Raises
    ------
    RoutingError
        ``routing.bound``.

    Examples
    --------
    >>> rows = [("s1", "xpath", "/a/b"), ("s2", "xpath", "/a/c"), ("s3", "keywords", "storm")]
    >>> table = spark.createDataFrame(rows, "subscription string, kind string, query string")
    >>> aggregate = aggregate_subscriptions(subscription_patterns(table), bound=4)
    >>> for row in aggregate.patterns.orderBy("size").collect():
    ...     print(Pattern.from_key(row.pattern), row.is_exact, row.members)
    storm True 1
    /a/* False 2
    """
    if bound < 1:
        raise error("routing.bound", f"the bound of an aggregated set is {bound}")
    documents = sample or SampledDocuments()
    valid = patterns.where("code is null").select("subscription", "pattern", "size", "block")
    distinct = valid.groupBy("pattern").agg(
        f.first("size").alias("size"), f.first("block").alias("block")
    )
    total = distinct.agg(f.sum("size").alias("total"))
    # What fits the bound as it is needs no blocks.
    block = f.when(f.col("total") <= bound, f.lit("")).otherwise(f.col("block"))
    block_roots = (
        distinct.crossJoin(f.broadcast(total))
        .withColumn("block", block)
        .groupBy("block")
        .applyInArrow(_aggregated_block(bound, documents), from_arrow_schema(_BLOCK_ROOTS))
        # Needed twice, and again by each action on the result.
        .persist()
    )
    # Blocks may have the same root; its members are those of both.
    roots = block_roots.select("root", "is_merged", "member_bits", "bits").distinct()
    final = (
        roots.groupBy()
        .applyInArrow(_aggregated_roots(bound, documents), from_arrow_schema(_FINAL_ROOTS))
        .persist()
    )
    members = (
        valid.select("subscription", "pattern")
        .join(block_roots.select("pattern", "root"), "pattern")
        .join(final, "root")
    )
    return SubscriptionAggregate(
        patterns=members.groupBy(f.col("aggregate").alias("pattern")).agg(
            f.first("size").alias("size"),
            f.first("is_exact").alias("is_exact"),
            f.count("*").alias("members"),
        ),
        members=members.select("subscription", f.col("aggregate").alias("pattern")),
        cached=(block_roots, final),
    )


def subscription_containment(
    patterns: DataFrame, *, direct_only: bool = False, tasks: int = CONTAINMENT_TASKS
) -> DataFrame:
    """Compute the containment order of subscriptions.

    Every task has an index of all distinct patterns, in which it finds the containers of its share:
    about 1 GB for 200,000, with what it caches.

    Parameters
    ----------
    patterns
        The result of :func:`subscription_patterns`; rows with an error are omitted.
    direct_only
        Whether pairs with a third pattern between them are omitted. Of many subscriptions these are
        most of the pairs.
    tasks
        Number of tasks, such as the number of cores.

    Returns
    -------
    One row per pair of distinct patterns of which one is proved to contain the other:
    ``container``, ``contained`` and ``is_direct``, as in :class:`penstock.routing.ContainmentPair`.

    Examples
    --------
    >>> rows = [("s1", "xpath", "//b"), ("s2", "xpath", "/a/b"), ("s3", "xpath", "/a/b/c")]
    >>> table = spark.createDataFrame(rows, "subscription string, kind string, query string")
    >>> pairs = subscription_containment(subscription_patterns(table))
    >>> for row in pairs.orderBy("container", "contained").collect():
    ...     print(*map(Pattern.from_key, row[:2]), row.is_direct)
    //b /a/b True
    //b /a/b/c False
    /a/b /a/b/c True
    """
    distinct = patterns.where("code is null").select("pattern").distinct()
    share = f.pmod(f.xxhash64("pattern"), f.lit(tasks))
    above = (
        distinct.withColumn("task", f.explode(f.sequence(f.lit(0), f.lit(tasks - 1))))
        .withColumn("is_wanted", share == f.col("task"))
        .groupBy("task")
        .applyInArrow(_ordered_share(direct_only=direct_only), from_arrow_schema(_CONTAINERS))
    )
    return above.select("contained", f.explode("containers").alias("each")).select(
        "each.container", "contained", "each.is_direct"
    )


def _parsed_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [_parsed(row) for row in batch.to_pylist(maps_as_pydicts="lossy")]
        yield pa.RecordBatch.from_pylist(rows, schema=PATTERNS)


def _parsed(row: dict[str, Any]) -> dict[str, Any]:
    where = row.get("where")
    try:
        if row["kind"] == "keywords":
            pattern = Pattern.of_keywords(row["query"], where=where)
        elif row["kind"] == "xpath":
            pattern = Pattern.of_path(
                row["query"],
                namespaces=row.get("namespaces"),
                default_namespace=row.get("default_namespace"),
                where=where,
            )
        else:
            message = f"unknown kind of query {row['kind']!r}"
            return _refused(row, "subscription.kind", message)
    except QueryError as refused:
        return _refused(row, refused.code, refused.message)
    return {
        "subscription": row["subscription"],
        "pattern": pattern.key,
        "size": pattern.size,
        "block": block_of(pattern),
    }


def _refused(row: dict[str, Any], code: str, message: str) -> dict[str, Any]:
    return {"subscription": row["subscription"], "code": code, "message": message}


def _aggregated_block(bound: int, sample: SampledDocuments) -> Callable[[pa.Table], pa.Table]:
    """The function that aggregates a block."""

    def aggregate(table: pa.Table) -> pa.Table:
        distinct = sorted(table.to_pylist(), key=lambda row: str(row["pattern"]))
        # Which members have a pattern does not matter here: the pattern stands for all.
        nodes = [PatternNode(_pattern(row["pattern"]), {row["pattern"]}) for row in distinct]
        for node, bits in zip(nodes, sample.match_bits(n.pattern for n in nodes), strict=True):
            node.bits = node.member_bits = bits
        size = sum(node.pattern.size for node in nodes)
        total = int(distinct[0]["total"])
        roots = aggregate_block(nodes, block_bound(size, total, bound), sample)
        rows = [
            {
                "pattern": id_,
                "root": root.pattern.key,
                "is_merged": root.is_merged,
                "member_bits": _to_bytes(root.member_bits, sample),
                "bits": _to_bytes(root.bits, sample),
            }
            for root in roots
            for node in root.subtree()
            for id_ in node.ids
        ]
        return pa.Table.from_pylist(rows, schema=_BLOCK_ROOTS)

    return aggregate


def _aggregated_roots(bound: int, sample: SampledDocuments) -> Callable[[pa.Table], pa.Table]:
    """The function that aggregates the roots of all blocks."""

    def aggregate(table: pa.Table) -> pa.Table:
        nodes: dict[str, PatternNode] = {}
        for row in table.to_pylist():
            node = nodes.setdefault(row["root"], PatternNode(_pattern(row["root"])))
            node.bits = int.from_bytes(row["bits"], "little")
            node.member_bits |= int.from_bytes(row["member_bits"], "little")
            if not row["is_merged"]:
                node.ids.add(row["root"])
        forest = MergeForest()
        forest.insert_all(nodes.values())
        Merger(forest, sample).reduce(bound)
        final = {node: root for root in forest.roots.values() for node in root.subtree()}
        rows = [
            {
                "root": key,
                "aggregate": final[node].pattern.key,
                "size": final[node].pattern.size,
                "is_exact": not final[node].is_merged,
            }
            for key, node in nodes.items()
        ]
        return pa.Table.from_pylist(rows, schema=_FINAL_ROOTS)

    return aggregate


def _ordered_share(*, direct_only: bool) -> Callable[[pa.Table], pa.Table]:
    """The function that finds the containers of a task's share of all patterns."""

    def containers(table: pa.Table) -> pa.Table:
        keys: list[Any] = table.column("pattern").to_pylist()
        order = FixedOrder(keys)
        contained: list[str] = []
        found: list[list[dict[str, Any]]] = []
        for number, is_wanted in enumerate(table.column("is_wanted").to_pylist()):
            above = order.above(number).items() if is_wanted else ()
            pairs = [
                {"container": keys[each], "is_direct": is_direct}
                for each, is_direct in above
                if is_direct or not direct_only
            ]
            if pairs:
                contained.append(keys[number])
                found.append(pairs)
        return pa.table([contained, found], schema=_CONTAINERS)

    return containers


@lru_cache(PARSED_PATTERNS_MAX)
def _pattern(key: str) -> Pattern:
    return Pattern.from_key(key)


def _to_bytes(bits: int, sample: SampledDocuments) -> bytes:
    return bits.to_bytes(len(sample) // 8 + 1, "little")
