"""A tree of routers on Spark delivers what the routers deliver by themselves."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from penstock.documents import Fragment
from penstock.errors import PenstockError
from penstock.pipeline import (
    RoutedBatchDelivery,
    RunConfig,
    deliver,
    deliver_routed,
    route_documents,
    routed_delivery,
    spark_schemas,
    start_stream,
    write_router_tree,
)
from penstock.pipeline.delivery import BatchCounts
from penstock.pipeline.document_probe import ProbeStage
from penstock.pipeline.limits import OPEN_ROUTERS_MAX, TREE_HOPS_MAX
from penstock.pipeline.routed_documents import (
    EntryStage,
    HopStage,
    RoutedDocument,
    WholeRoute,
    tree_routing,
)
from penstock.pipeline.router_cache import MATCH_LIST_ALONE, RouterCache, TreeRouting
from penstock.pipeline.run_config import Mode
from penstock.routing import (
    ALL_KINDS,
    NO_KINDS,
    AnnotationKind,
    LocalSubscription,
    Publish,
    Router,
    RouterCounters,
    Subscribe,
)
from penstock.workspace import write_mappings
from penstock.workspace.index_versions import write_version
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.router_tree_files import StoredTree
from penstock.workspace.table_schemas import DOCUMENTS, SUBSCRIPTIONS
from support.routing.annotation_cases import (
    NO_ANNOTATIONS,
    GeneratedNetwork,
    mapping_table,
    random_published,
    random_subscription,
    run_network,
)
from support.routing.random_traffic import random_tree
from support.spark.injected_faults import FaultyHopStage

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROUTERS: Final = 7
CHAIN: Final = (("a", "b"), ("b", "c"), ("c", "d"))


def generated(seed: int, *, bound: int) -> GeneratedNetwork:
    """A network whose subscriptions do not change."""
    chance = random.Random(seed)
    links = tuple(random_tree(chance, ROUTERS))
    names = [f"r{number}" for number in range(ROUTERS)]
    own: dict[str, list[LocalSubscription]] = {name: [] for name in names}
    for number in range(50):
        own[chance.choice(names)].append(random_subscription(chance, number))
    published = [random_published(chance, number) for number in range(40)]
    return GeneratedNetwork(
        seed=seed,
        links=links,
        bound=bound,
        subscriptions={name: tuple(each) for name, each in own.items()},
        events=tuple(
            (home(document.header.publisher), Publish(document=document)) for document in published
        ),
        late_share=0,
    )


def home(publisher: str) -> str:
    """The router of a publisher."""
    return "r0" if publisher == "p0" else f"r{ROUTERS - 1}"


def subscription_rows(
    spark: SparkSession, of: Mapping[str, tuple[LocalSubscription, ...]]
) -> DataFrame:
    rows = []
    for router, subscriptions in of.items():
        for each in subscriptions:
            values: dict[str, Any] = asdict(each)
            values["subscription"] = values.pop("id")
            values["router"] = router
            rows.append(values)
    schema = pa.schema([pa.field("router", pa.string()), *SUBSCRIPTIONS])
    table = pa.Table.from_pylist(
        [
            {
                **row,
                "namespaces": list(row["namespaces"].items()),
                "where": list(row["where"].items()),
            }
            for row in rows
        ],
        schema=schema,
    )
    fields = [StructField("router", StringType()), *spark_schemas.SUBSCRIPTIONS]
    return spark.createDataFrame(table, StructType(fields))


def document_rows(spark: SparkSession, network: GeneratedNetwork) -> DataFrame:
    rows = [
        {
            "document": event.document.identity,
            "publisher": event.document.header.publisher,
            "schema": event.document.header.schema,
            "fields": list(event.document.header.fields.items()),
            "sequence": number,
            "published_at": NOON + timedelta(seconds=number),
            "content": event.document.content,
        }
        for number, (_, event) in enumerate(network.events)
        if isinstance(event, Publish)
    ]
    table = pa.Table.from_pylist(rows, schema=DOCUMENTS)
    return spark.createDataFrame(table, spark_schemas.DOCUMENTS).repartition(2)


def router_of_publisher() -> Column:
    """The router of each document's publisher."""
    return f.when(f.col("publisher") == "p0", home("p0")).otherwise(home("p1"))


def expected_effects(network: GeneratedNetwork) -> list[tuple[object, ...]]:
    """What the same routers do in one process: deliveries, forwards and refusals."""
    effects: list[tuple[object, ...]] = []
    for kind, router, *rest in run_network(network, NO_ANNOTATIONS).effects:
        if kind == "delivery":
            id_, identity, fragments = rest
            count = None if fragments is None else len(fragments)  # type: ignore[arg-type]
            effects.append((kind, router, id_, identity, count))
        elif kind == "dead":
            effects.append((kind, router, rest[0]))
        else:
            effects.append((kind, router, *rest))
    return sorted(effects, key=repr)


def effects_of(routed: DataFrame) -> list[tuple[object, ...]]:
    effects: list[tuple[object, ...]] = []
    for row in routed.collect():
        for match in row.matches:
            count = None if match.fragments is None else len(match.fragments)
            effects.append(("delivery", row.router, match.subscription, row.document, count))
        effects += [("forward", row.router, each, row.document) for each in row.forwards]
        if row.error is not None:
            effects.append(("dead", row.router, row.error.code))
    return sorted(effects, key=repr)


@pytest.mark.parametrize(
    ("seed", "bound", "kinds"),
    [(1, 1_000, NO_KINDS), (2, 1_000, ALL_KINDS), (3, 12, MATCH_LIST_ALONE)],
)
def test_effects_are_those_of_the_router_network(
    spark: SparkSession,
    tmp_path: Path,
    seed: int,
    bound: int,
    kinds: frozenset[AnnotationKind],
) -> None:
    network = generated(seed, bound=bound)
    tree = write_router_tree(
        subscription_rows(spark, network.subscriptions),
        network.links,
        str(tmp_path / "tree"),
        aggregate_nodes=bound,
    )
    routed = route_documents(
        document_rows(spark, network),
        tree,
        router=router_of_publisher(),
        mappings=write_mappings(str(tmp_path / "mappings"), mapping_table()),
        annotations=kinds,
        at=NOON,
    ).cache()
    expected = expected_effects(network)
    found = effects_of(routed)
    if bound < 1_000:
        # Where patterns are merged, forwards depend on the order in which interests were announced.
        expected = [effect for effect in expected if effect[0] != "forward"]
        found = [effect for effect in found if effect[0] != "forward"]
    assert found == expected
    assert sum(effect[0] == "delivery" for effect in found) > 50
    readings = {row.reading for row in routed.where("source is not null").collect()}
    assert readings == {"whole"} if not kinds else "none" in readings
    routed.unpersist()


def small_tree(spark: SparkSession, folder: Path, **queries: str) -> str:
    """A chain of four routers; the first letter of a subscription's name is its router."""
    own: dict[str, list[LocalSubscription]] = {}
    for name, query in queries.items():
        one = LocalSubscription(id=name, subscriber=f"{name} reader", query=query)
        own.setdefault(name[0], []).append(one)
    rows = subscription_rows(spark, {name: tuple(each) for name, each in own.items()})
    return write_router_tree(rows, CHAIN, str(folder))


def documents_of(spark: SparkSession, contents: Iterable[bytes], first: int = 0) -> DataFrame:
    rows = [
        {
            "document": f"wire/{number}",
            "publisher": "wire",
            "schema": "",
            "fields": [],
            "sequence": number,
            "published_at": NOON + timedelta(seconds=number),
            "content": content,
        }
        for number, content in enumerate(contents, start=first)
    ]
    table = pa.Table.from_pylist(rows, schema=DOCUMENTS)
    return spark.createDataFrame(table, spark_schemas.DOCUMENTS)


QUERIES: Final = {
    "a1": "/news",
    "b1": "//flash",
    "c1": "//item[@n > 2]",
    "d1": "//item",
    "d2": "//x",
}
CONTENTS: Final = [
    b"<news><flash/></news>",
    b"<other/>",
    b"<news><item n='1'/></news>",
    b"<news><item></news>",
    b"<news><item n='3'/><item n='4'/></news>",
]


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    created = Tables(str(tmp_path / "tables"))
    created.create()
    return created


def rows_of(table: str, *columns: str) -> list[tuple[Any, ...]]:
    found = DeltaTable(table).to_pyarrow_table().select(list(columns)).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_a_batch_is_delivered_as_without_routers(
    spark: SparkSession, tmp_path: Path, tables: Tables
) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    documents = documents_of(spark, CONTENTS).repartition(3)
    routed = deliver_routed(documents, tree, tables, router="b", stream="s", batch=0, at=NOON)
    flat = Tables(str(tmp_path / "flat"))
    flat.create()
    rows = subscription_rows(
        spark,
        {
            "a": tuple(
                LocalSubscription(id=name, subscriber=f"{name} reader", query=query)
                for name, query in QUERIES.items()
            )
        },
    )
    version = write_version(str(tmp_path / "index"), rows.drop("router").toArrow())
    expected = deliver(documents, version, flat, stream="s", batch=0, at=NOON)
    assert routed == expected
    columns = (
        "delivery",
        "subscriber",
        "document",
        "sequence",
        "content_digest",
        "bucket",
        "batch",
    )
    assert rows_of(tables.deliveries, *columns) == rows_of(flat.deliveries, *columns)
    assert len(rows_of(tables.deliveries, "delivery")) == 7
    assert rows_of(tables.documents, "document", "content") == rows_of(
        flat.documents, "document", "content"
    )
    letters = ("document", "content", "code", "message", "line", "column")
    assert rows_of(tables.dead_letters, *letters) == rows_of(flat.dead_letters, *letters)
    assert rows_of(tables.counts, "versions", "batch") == [([tree], 0)]
    assert DeltaTable(tables.deliveries).version() == 1, "one commit"


def test_documents_beside_one_that_ends_a_worker_at_a_later_router_are_delivered(
    spark: SparkSession, tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routed_delivery, "HopStage", FaultyHopStage)
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    killer = b"<news><flash/><kill/></news>"
    documents = documents_of(spark, [*CONTENTS, killer]).repartition(2)

    def run() -> BatchCounts | None:
        return deliver_routed(documents, tree, tables, router="b", stream="s", batch=0, at=NOON)

    counts = run()
    assert counts is not None
    assert (counts.documents, counts.matched, counts.dead, counts.deliveries) == (6, 3, 2, 7)
    assert not [row for row in rows_of(tables.deliveries, "document") if row == ("wire/5",)]
    assert rows_of(tables.dead_letters, "document", "code") == [
        ("wire/3", "xml.end-tag"),
        ("wire/5", "internal.worker"),
    ]
    assert len(rows_of(tables.documents, "document")) == 4
    assert not list(Path(tables.root, "quarantine").rglob("*.json")), "the batch is complete"
    assert run() is None


def test_a_batch_that_is_replayed_is_committed_once(
    spark: SparkSession, tmp_path: Path, tables: Tables
) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    documents = documents_of(spark, CONTENTS)

    def run(batch: int) -> object:
        return deliver_routed(documents, tree, tables, router="a", stream="s", batch=batch, at=NOON)

    first = run(0)
    before = rows_of(tables.deliveries, "delivery", "batch")
    assert run(0) is None
    # As after a kill between two commits.
    for table in (tables.deliveries, tables.counts):
        (Path(table) / "_delta_log" / f"{1:020}.json").unlink()
    assert run(0) == first
    assert rows_of(tables.deliveries, "delivery", "batch") == before
    assert len(rows_of(tables.documents, "document")) == 4
    assert run(1) == first
    assert len(rows_of(tables.deliveries, "delivery")) == 2 * len(before)


class TreeFile:
    """Returns the tree that a file names, like a store that other processes change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> str:
        return self.path.read_text()


def router_b() -> str:
    return "b"


def test_a_stream_uses_the_tree_of_its_time(
    spark: SparkSession, tmp_path: Path, tables: Tables
) -> None:
    current = TreeFile(tmp_path / "current")
    current.path.write_text(small_tree(spark, tmp_path / "tree", d1="//item"))
    delivery = RoutedBatchDelivery(
        tree=current, tables=tables, router=router_b, records=str(tmp_path / "records"), stream="s"
    )
    source = tmp_path / "source"

    def publish(number: int) -> None:
        documents = documents_of(spark, [b"<news><item/></news>"], first=number)
        documents.write.mode("append").parquet(str(source))

    def run() -> None:
        stream = spark.readStream.schema(spark_schemas.DOCUMENTS).parquet(str(source))
        start_stream(stream, delivery, checkpoint=tmp_path / "checkpoint").awaitTermination()

    publish(0)
    run()
    current.path.write_text(small_tree(spark, tmp_path / "tree", d1="//item", a1="/news"))
    publish(1)
    run()
    run()
    assert rows_of(tables.deliveries, "document", "subscription") == [
        ("wire/0", "d1"),
        ("wire/1", "a1"),
        ("wire/1", "d1"),
    ]


# Refusals


def test_documents_at_an_unknown_router_are_dead_letters(
    spark: SparkSession, tmp_path: Path, tables: Tables
) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    documents = documents_of(spark, CONTENTS[:2])
    with pytest.raises(PenstockError, match=r"no router `z`.*routing\.tree"):
        deliver_routed(documents, tree, tables, router="z", stream="s", batch=0, at=NOON)
    counts = deliver_routed(
        documents,
        tree,
        tables,
        router=f.when(f.col("document") == "wire/0", "a"),
        stream="s",
        batch=0,
        at=NOON,
    )
    assert counts is not None
    assert (counts.matched, counts.dead) == (1, 1)
    assert rows_of(tables.dead_letters, "document", "code") == [("wire/1", "document.router")]


def test_modes(spark: SparkSession, tmp_path: Path, tables: Tables) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    documents = documents_of(spark, CONTENTS)
    kept = route_documents(documents, tree, router="a", at=NOON)
    dropped = route_documents(documents, tree, router="a", at=NOON, mode="DROPMALFORMED")
    assert kept.count() == dropped.count() + 1
    with pytest.raises(PySparkException, match=r"xml\.end-tag"):
        deliver_routed(
            documents,
            tree,
            tables,
            router="a",
            stream="s",
            batch=0,
            at=NOON,
            config=RunConfig(mode="FAILFAST"),
        )
    assert DeltaTable(tables.deliveries).version() == 0


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        ((("a", "b"), ("b", "a")), "closes a cycle"),
        ((("a", "b"), ("b", "c"), ("c", "a")), "close a cycle"),
        ((("a", "b"), ("c", "d")), "not reached"),
        ((("a", "a"),), "closes a cycle"),
        ((), "no router"),
        (tuple((str(n), str(n + 1)) for n in range(TREE_HOPS_MAX + 1)), "hops"),
        ((("a", "b"),), "no router `d`"),
    ],
)
def test_links_that_form_no_tree_are_refused(
    spark: SparkSession, tmp_path: Path, links: tuple[tuple[str, str], ...], reason: str
) -> None:
    rows = subscription_rows(
        spark, {"d": (LocalSubscription(id="d1", subscriber="ada", query="/a"),)}
    )
    with pytest.raises(PenstockError, match=reason) as refused:
        write_router_tree(rows, links, str(tmp_path))
    assert refused.value.code == "routing.tree"


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([("a", "s1", "ada", "xpath", "/a["), ("b", "s2", "ada", "xpath", "/a")], "query.syntax"),
        (
            [("a", "s1", "ada", "xpath", "/a"), ("b", "s1", "ada", "xpath", "/b")],
            "subscription.duplicate",
        ),
        ([("a", "s1", "ada", "sql", "/a")], "subscription.kind"),
    ],
)
def test_subscriptions_that_are_refused(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[str, ...]], code: str
) -> None:
    columns = "router string, subscription string, subscriber string, kind string, query string"
    table = spark.createDataFrame(rows, columns)
    with pytest.raises(PenstockError) as refused:
        write_router_tree(table, [("a", "b")], str(tmp_path))
    assert refused.value.code == code


def test_arguments_are_checked(spark: SparkSession, tmp_path: Path) -> None:
    tree = small_tree(spark, tmp_path / "tree", a1="/a")
    documents = documents_of(spark, CONTENTS)
    with pytest.raises(PenstockError, match=r"routing\.option"):
        route_documents(documents, tree, router="a", annotations=["guess"])
    with pytest.raises(PenstockError, match=r"pipeline\.columns"):
        route_documents(documents.drop("content"), tree, router="a")
    with pytest.raises(PenstockError, match=r"pipeline\.columns"):
        write_router_tree(documents, CHAIN, str(tmp_path))
    with pytest.raises(PenstockError, match=r"index\.not-an-index"):
        route_documents(documents, str(tmp_path), router="a")
    with pytest.raises(PenstockError, match=r"index\.missing"):
        route_documents(documents, str(tmp_path / f"{'0' * 64}.routers"), router="a")
    bound = subscription_rows(spark, {})
    with pytest.raises(PenstockError, match=r"routing\.bound"):
        write_router_tree(bound, CHAIN, str(tmp_path), aggregate_nodes=0)


# Without Spark


def stage_batch(documents: DataFrame, router: str) -> pa.RecordBatch:
    """Documents as rows of the first stage."""
    return next(EntryStage()(iter([entered_batch(documents, router)])))


def entered_batch(documents: DataFrame, router: str) -> pa.RecordBatch:
    """Documents at a router."""
    table = documents.toArrow()
    table = table.append_column("router", pa.array([router] * table.num_rows))
    table = table.append_column("row", pa.array(range(table.num_rows), pa.int64()))
    (batch,) = table.combine_chunks().to_batches()
    return batch


def test_a_worker_opens_only_the_files_of_its_routers(spark: SparkSession, tmp_path: Path) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    files = StoredTree.read(tree).routers["b"]
    own = {
        files.subscriptions,
        *(files.interests or {}).values(),
        *(files.announced or {}).values(),
    }
    for path in (tmp_path / "tree").iterdir():
        if path.name not in own and path.suffix != ".routers":
            path.unlink()
    stage = HopStage(
        routing=tree_routing(tree, mappings=None, limits=None, kinds=MATCH_LIST_ALONE),
        at=NOON,
        config=RunConfig(),
    )
    results, forwards = stage(iter([stage_batch(documents_of(spark, CONTENTS), "b")]))
    assert results.column("router").to_pylist() == ["b"] * len(CONTENTS)
    assert set(forwards.column("router").to_pylist()) == {"a", "c"}
    with pytest.raises(PenstockError, match=r"index\.missing"):
        list(stage(iter([stage_batch(documents_of(spark, CONTENTS), "c")])))


def test_failures_of_one_document_are_its_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    stage = HopStage(
        routing=tree_routing(tree, mappings=None, limits=None, kinds=MATCH_LIST_ALONE),
        at=NOON,
        config=RunConfig(),
    )

    def fail(*_: object) -> None:
        raise RuntimeError("injected")

    monkeypatch.setattr("penstock.pipeline.routed_documents.RoutedDocument.receive", fail)
    results, _ = stage(iter([stage_batch(documents_of(spark, CONTENTS[:1]), "a")]))
    problem: Any = results.column("error")[0].as_py()
    assert (problem["code"], problem["path"]) == ("internal.error", None)
    assert "injected" in problem["message"]


def verifying(tree: str, mode: Mode) -> HopStage:
    """A stage that verifies the annotations of all documents."""
    routing = tree_routing(
        tree, mappings=None, limits=None, kinds=MATCH_LIST_ALONE, verified_share=1.0
    )
    return HopStage(routing=routing, at=NOON, config=RunConfig(mode=mode))


def falsely_annotated(spark: SparkSession, stage: HopStage) -> pa.RecordBatch:
    """Two documents that the first router forwards to the second, one of them with the annotations
    of another one."""
    contents = [b"<news><item n='1'/></news>", b"<news><item n='3'/></news>"]
    _, forwards = stage(iter([stage_batch(documents_of(spark, contents), "a")]))
    to_second = forwards.filter(pc.equal(forwards.column("router"), pa.scalar("b")))
    changed = pa.array([contents[0], contents[0]], pa.binary())
    position = to_second.schema.get_field_index("content")
    return to_second.set_column(position, to_second.schema.field(position), changed)


def test_a_document_that_contradicts_its_annotations_is_reported(
    spark: SparkSession, tmp_path: Path
) -> None:
    tree = small_tree(spark, tmp_path / "tree", b1="//item[@n > 2]", b2="//item", b3="//x")
    stage = verifying(tree, "PERMISSIVE")
    arrived = falsely_annotated(spark, stage)
    results, _ = replace(stage, hop=1)(iter([arrived]))
    said = results.column("contradiction").to_pylist()
    assert said == [None, "the annotations of `a` contradict the document"]
    matches: Any = results.column("matches").to_pylist()
    assert [[each["subscription"] for each in row] for row in matches] == [["b2"], ["b2"]]
    assert results.column("error").null_count == 2, "what was read counts"


def test_a_document_that_contradicts_its_annotations_fails_a_fail_fast_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    tree = small_tree(spark, tmp_path / "tree", b1="//item[@n > 2]", b2="//item", b3="//x")
    stage = verifying(tree, "FAILFAST")
    arrived = falsely_annotated(spark, stage)
    with pytest.raises(PenstockError, match=r"wire/1 at `b`") as raised:
        list(replace(stage, hop=1)(iter([arrived])))
    assert raised.value.code == "routing.annotations"
    assert raised.value.hint


def test_verified_annotations_of_a_job_are_right(spark: SparkSession, tmp_path: Path) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    documents = documents_of(spark, CONTENTS)
    routed = route_documents(documents, tree, router="b", verified_share=1.0, at=NOON).collect()
    assert {row.contradiction for row in routed} == {None}
    assert {row.reading for row in routed} == {"whole"}


def test_an_output_that_no_router_has_is_not_ignored() -> None:
    class Surprising:
        counters = RouterCounters()

        def receive(self, *_: object) -> tuple[object, ...]:
            return (object(),)

    arrived: Any = type("Arrived", (), {"as_input": lambda _: None})()
    surprising: Any = Surprising()
    with pytest.raises(AssertionError):
        RoutedDocument().receive(surprising, arrived, NOON)


def test_open_routers_are_bounded(spark: SparkSession, tmp_path: Path) -> None:
    rows = subscription_rows(
        spark, {"r0": (LocalSubscription(id="s", subscriber="ada", query="/a"),)}
    )
    count = OPEN_ROUTERS_MAX + 2
    tree = write_router_tree(rows, [("r0", f"r{n}") for n in range(1, count)], str(tmp_path))
    routing = tree_routing(tree, mappings=None, limits=None, kinds=NO_KINDS)
    cache = RouterCache()
    opened = [cache.open(routing, f"r{number}") for number in range(count)]
    assert cache.open(routing, f"r{count - 1}") is opened[-1]
    assert cache.open(routing, "r0") is not opened[0]
    assert len(cache._routers) == OPEN_ROUTERS_MAX
    # A router that is opened from files has fixed interests.
    with pytest.raises(PenstockError, match=r"routing\.fixed"):
        opened[1].receive(
            Subscribe(subscriptions=(LocalSubscription(id="n", subscriber="a", query="/b"),)), NOON
        )


def whole_route(tree: str, hops: int) -> WholeRoute:
    stage = HopStage(
        routing=tree_routing(tree, mappings=None, limits=None, kinds=MATCH_LIST_ALONE),
        at=NOON,
        config=RunConfig(),
    )
    return WholeRoute(stage=stage, entry=EntryStage(), hops=hops)


def test_the_probe_opens_each_router_once_for_many_documents(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaves = [f"r{number}" for number in range(1, OPEN_ROUTERS_MAX + 4)]
    wanted = {
        name: (LocalSubscription(id=name, subscriber=name, query="/news"),) for name in leaves
    }
    rows = subscription_rows(spark, wanted)
    tree = write_router_tree(rows, [("r0", name) for name in leaves], str(tmp_path))
    opened: list[str] = []
    open_router = TreeRouting.open

    def count(routing: TreeRouting, name: str) -> Router:
        opened.append(name)
        return open_router(routing, name)

    monkeypatch.setattr(TreeRouting, "open", count)
    batch = entered_batch(documents_of(spark, [b"<news/>"] * 5), "r0")
    steps = list(whole_route(tree, 1)(batch))
    assert [step.row for step in steps if step.row is not None].count(3) == 1 + len(leaves)
    assert sorted(opened) == sorted(["r0", *leaves])


def test_a_router_that_cannot_be_opened_fails_the_probe(
    spark: SparkSession, tmp_path: Path
) -> None:
    tree = small_tree(spark, tmp_path / "tree", **QUERIES)
    file = StoredTree.read(tree).routers["c"].subscriptions
    (tmp_path / "tree" / file).unlink()
    batch = entered_batch(documents_of(spark, CONTENTS), "b")
    with pytest.raises(PenstockError, match=r"index\.missing"):
        list(ProbeStage(work=whole_route(tree, 2))(iter([batch])))


def test_fragments_are_converted_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = LocalSubscription(
        id="s", subscriber="ada", query="//flash", returns="fragments", fragments_max=2
    )
    rows = subscription_rows(spark, {"a": (wanted,)})
    tree = write_router_tree(rows, [], str(tmp_path), routers=["a"])
    converted = []
    to_xml = Fragment.to_xml

    def count(fragment: Fragment) -> str:
        converted.append(fragment)
        return to_xml(fragment)

    monkeypatch.setattr(Fragment, "to_xml", count)
    stage = whole_route(tree, 0).stage
    content = b"<news><flash>1</flash><flash/><flash/></news>"
    results, _ = stage(iter([stage_batch(documents_of(spark, [content]), "a")]))
    (match,) = results.column("matches")[0].as_py()
    texts = [each["xml"] for each in match["fragments"]]
    assert texts == ["<flash>1</flash>", "<flash/>", "<!-- 1 more -->"]
    assert len(converted) == 2


def test_one_router_is_a_tree(spark: SparkSession, tmp_path: Path) -> None:
    rows = subscription_rows(
        spark, {"r0": (LocalSubscription(id="s", subscriber="ada", query="/news"),)}
    )
    tree = write_router_tree(rows, [], str(tmp_path), routers=["r0"])
    routed = route_documents(documents_of(spark, CONTENTS), tree, router="r0", at=NOON)
    assert sum(len(row.matches) for row in routed.collect()) == 3


def test_equal_parts_of_trees_are_shared(spark: SparkSession, tmp_path: Path) -> None:
    small_tree(spark, tmp_path / "tree", **QUERIES)
    before = {path.name for path in (tmp_path / "tree").iterdir()}
    again = small_tree(spark, tmp_path / "tree", **QUERIES)
    assert {path.name for path in (tmp_path / "tree").iterdir()} == before
    assert Path(again).name in before
    small_tree(spark, tmp_path / "tree", **QUERIES, a2="/more")
    added = {path.name for path in (tmp_path / "tree").iterdir()} - before
    # The subscriptions of `a`, the tree, and what is announced along the chain.
    assert len(added) == 1 + 1 + 3
