"""Computes the tables of all routers of a tree on Spark, and writes them as files.

A router announces to each neighbour the aggregate of what is reachable through it: its own
subscriptions and the interests of its other neighbours. Interests are computed level by level, from
the outermost routers to the center and back. A task computes those of one router, with the files of
its neighbours, so that no process holds the whole network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.errors import PenstockError, error
from penstock.pipeline.limits import TREE_HOPS_MAX, TREE_ROUTERS_MAX
from penstock.routing import LocalSubscription, StoredInterest, TreeTopology
from penstock.routing.announced_interest import AnnouncedInterest
from penstock.routing.limits import AGGREGATE_NODES_MAX, DELIVERY_FRAGMENTS_MAX
from penstock.routing.member_names import interest_members
from penstock.workspace.router_tree_files import (
    RouterFiles,
    StoredTree,
    local_patterns,
    read_interest,
    read_subscriptions,
    write_interest,
    write_subscriptions,
)
from penstock.workspace.table_schemas import SUBSCRIPTIONS

ROUTER: Final = "router"
"""The column with the router of a subscription or document."""

_COLUMNS: Final = ("subscription", "subscriber", "kind", "query")
"""Columns that a table of subscriptions must have, besides :data:`ROUTER`."""

_WRITTEN: Final = pa.schema([pa.field("written", pa.string(), nullable=False)])
"""What a task has done, as JSON."""


def write_router_tree(
    subscriptions: DataFrame,
    links: Iterable[tuple[str, str]],
    folder: str,
    *,
    routers: Iterable[str] = (),
    aggregate_nodes: int = AGGREGATE_NODES_MAX,
) -> str:
    """Compute the tables of all routers of a tree, and write them as immutable files.

    Parameters
    ----------
    subscriptions
        A DataFrame with the column ``router`` and those of
        :data:`penstock.pipeline.spark_schemas.SUBSCRIPTIONS`, of which only ``subscription``,
        ``subscriber``, ``kind`` and ``query`` are required. Subscriptions have different names,
        also at different routers.
    links
        Pairs of names of routers; they form a tree.
    folder
        A path or URI that every worker can read and write. What is there already is reused.
    routers
        Names of routers; only needed for a tree of one router, which has no links.
    aggregate_nodes
        The bound of the interest that a router announces to a neighbour, in pattern nodes.

    Returns
    -------
    The URI of the tree, for :func:`~penstock.pipeline.route_documents` and
    :func:`~penstock.pipeline.deliver_routed`.

    Raises
    ------
    RoutingError
        ``routing.tree``: the links do not form a tree, it is too large, or a subscription is at a
        router that is not part of it.
    QueryError
        A subscription is invalid, or ``subscription.duplicate``.
    PipelineError
        ``pipeline.columns``.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.pipeline import route_documents, matches_of, read_column
    >>> rows = [("r2", "s1", "ada", "xpath", "//flash"), ("r0", "s2", "ben", "xpath", "/news")]
    >>> columns = "router string, subscription string, subscriber string, kind string, query string"
    >>> wanted = spark.createDataFrame(rows, columns)
    >>> tree = write_router_tree(wanted, [("r0", "r1"), ("r1", "r2")], tempfile.mkdtemp())
    >>> table = spark.createDataFrame([("<news><flash/></news>",), ("<news/>",)], "xml string")
    >>> documents = read_column(spark, table, "xml", publisher="wire")
    >>> routed = route_documents(documents, tree, router="r1")
    >>> sorted((row.router, row.hop, len(row.matches)) for row in routed.collect())
    [('r0', 1, 1), ('r0', 1, 1), ('r1', 0, 0), ('r1', 0, 0), ('r2', 1, 1)]
    >>> sorted(row.subscription for row in matches_of(routed).collect())
    ['s1', 's2', 's2']
    """
    topology = TreeTopology.of(links, routers)
    if len(topology.neighbours) > TREE_ROUTERS_MAX or topology.hops_max > TREE_HOPS_MAX:
        raise error(
            "routing.tree",
            f"{len(topology.neighbours):,} routers, up to {topology.hops_max} hops; a tree can have"
            f" {TREE_ROUTERS_MAX:,} and {TREE_HOPS_MAX}",
        )
    if aggregate_nodes < 1:
        raise error("routing.bound", f"the bound of an aggregated set is {aggregate_nodes}")
    _check(subscriptions)
    spark = subscriptions.sparkSession
    local = _write_local(subscriptions, folder, topology)
    build = _InterestStage(folder, aggregate_nodes)
    announced: dict[tuple[str, str], str] = {}
    """The file of each announced interest, by router and neighbour."""

    def announce(names: Iterable[str], receivers: Mapping[str, Iterable[str]]) -> None:
        tasks = [
            {
                "router": name,
                "subscriptions": local.get(name, ""),
                "interests": {
                    neighbour: announced[neighbour, name]
                    for neighbour in topology.neighbours[name]
                    if (neighbour, name) in announced
                },
                "receivers": list(receivers[name]),
            }
            for name in names
        ]
        for written in _run(spark, tasks, build):
            for receiver, file in written["announced"].items():
                announced[written["router"], receiver] = file

    parents = topology.parents
    for level in reversed(topology.levels[1:]):
        announce(level, {name: [parents[name]] for name in level})
    for level in topology.levels[:-1]:
        children = {
            name: [each for each in topology.neighbours[name] if each != parents.get(name)]
            for name in level
        }
        announce((name for name in level if children[name]), children)
    tree = StoredTree(
        folder,
        {
            name: RouterFiles(
                local.get(name, ""),
                {other: announced[other, name] for other in neighbours},
                {other: announced[name, other] for other in neighbours},
            )
            for name, neighbours in topology.neighbours.items()
        },
    )
    return tree.write()


def _check(subscriptions: DataFrame) -> None:
    missing = {ROUTER, *_COLUMNS} - set(subscriptions.columns)
    if missing:
        raise error("pipeline.columns", f"no column {', '.join(sorted(missing))}")
    repeated = (
        subscriptions.groupBy("subscription").count().where("count > 1").select("subscription")
    )
    for row in repeated.limit(1).collect():
        raise error("subscription.duplicate", f"the id `{row[0]}` is in use")


def _write_local(subscriptions: DataFrame, folder: str, topology: TreeTopology) -> dict[str, str]:
    """Writes the subscriptions of each router; returns the names of the files."""
    names = [name for name in (ROUTER, *SUBSCRIPTIONS.names) if name in subscriptions.columns]
    rows = (
        subscriptions.select(*(f.col(f"`{name}`") for name in names))
        .groupBy(ROUTER)
        .applyInArrow(_local_writer(folder), from_arrow_schema(_WRITTEN))
    )
    local: dict[str, str] = {}
    for written in _results(rows):
        name = written["router"]
        if name not in topology.neighbours:
            raise error("routing.tree", f"the tree has no router `{name}`, which has subscriptions")
        local[name] = written["file"]
    return local


def _run(
    spark: SparkSession, tasks: list[dict[str, Any]], stage: _InterestStage
) -> list[dict[str, Any]]:
    """Runs tasks, a partition each: what they take differs widely."""
    if not tasks:
        return []
    rows = [(number, json.dumps(task)) for number, task in enumerate(tasks)]
    table = spark.createDataFrame(rows, "number int, task string")
    spread = table.repartitionByRange(len(rows), "number").select("task")
    return _results(spread.mapInArrow(stage, from_arrow_schema(_WRITTEN)))


def _results(rows: DataFrame) -> list[dict[str, Any]]:
    """What tasks have written; the first error of a subscription is raised here."""
    results: list[dict[str, Any]] = [json.loads(row.written) for row in rows.collect()]
    for result in sorted(results, key=lambda each: str(each["router"])):
        if "code" in result:
            raise error(result["code"], f"router `{result['router']}`: {result['message']}")
    return results


def _local_writer(folder: str) -> Callable[[pa.Table], pa.Table]:
    """The function that writes the subscriptions of a router."""

    def write(table: pa.Table) -> pa.Table:
        router = str(table.column(ROUTER)[0].as_py())
        try:
            subscriptions = [
                local_subscription(row) for row in table.to_pylist(maps_as_pydicts="strict")
            ]
            # Queries are parsed here, so that an invalid one is refused before anything is routed.
            local_patterns(subscriptions)
        except PenstockError as problem:
            refused = {"router": router, "code": problem.code, "message": problem.message}
            return _written(refused)
        return _written({"router": router, "file": write_subscriptions(folder, subscriptions)})

    return write


@dataclass(frozen=True, slots=True)
class _InterestStage:
    """Computes what routers announce to some of their neighbours."""

    folder: str
    aggregate_nodes: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column("task"):
                yield from _written(self._announce(json.loads(str(text)))).to_batches()

    def _announce(self, task: dict[str, Any]) -> dict[str, Any]:
        local = local_patterns(read_subscriptions(self.folder, task["subscriptions"]))
        interests = {
            name: read_interest(self.folder, file).patterns
            for name, file in task["interests"].items()
        }
        announced: dict[str, str] = {}
        for receiver in task["receivers"]:
            others = {name: each for name, each in interests.items() if name != receiver}
            members = interest_members(local, others)
            interest = AnnouncedInterest(members, bound=self.aggregate_nodes)
            stored = StoredInterest.of(interest, members)
            announced[receiver] = write_interest(self.folder, stored)
        return {"router": task["router"], "announced": announced}


def local_subscription(row: Mapping[str, Any]) -> LocalSubscription:
    """The subscription of a row.

    Raises
    ------
    QueryError
        A value is invalid.
    """
    kind = row["kind"]
    return LocalSubscription(
        id=row["subscription"] or "",
        subscriber=row["subscriber"] or "",
        query=row["query"] or "",
        kind=kind,
        namespaces=row.get("namespaces") or {},
        default_namespace=row.get("default_namespace"),
        where=row.get("where") or {},
        returns=row.get("returns") or "document",
        fragments_max=row.get("fragments_max") or DELIVERY_FRAGMENTS_MAX,
        starts_at=row.get("starts_at"),
        expires_at=row.get("expires_at"),
    )


def _written(result: dict[str, Any]) -> pa.Table:
    return pa.table({"written": [json.dumps(result)]}, schema=_WRITTEN)
