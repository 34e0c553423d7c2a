"""Routes a DataFrame of documents through a tree of routers, hop by hop in one job.

A row is a document at a router. A stage routes the documents of its routers with the router core:
it returns what they deliver, and a row for each neighbour that a document is forwarded to, with the
annotations for it. The rows are then partitioned by router for the next stage, in which results
pass through unchanged. There are as many stages as hops from a publisher's router to the farthest
one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, assert_never

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.documents import Document, Header, Limits
from penstock.documents.failure_report import PROCESS_EXITS, internal_error
from penstock.errors import DocumentError, error
from penstock.matching.batch import ERROR_TYPE, error_array
from penstock.pipeline.batch_matcher import byte_lengths, split_by_bytes
from penstock.pipeline.document_columns import own_columns
from penstock.pipeline.document_headers import Value
from penstock.pipeline.document_log import DocumentLog
from penstock.pipeline.document_probe import ProbeStep
from penstock.pipeline.fragment_rows import FragmentRows
from penstock.pipeline.limits import PROBED_TOGETHER_MAX
from penstock.pipeline.quarantine import Quarantine
from penstock.pipeline.router_cache import (
    MATCH_LIST_ALONE,
    TreeRouting,
    cached_router,
    read_tree,
)
from penstock.pipeline.router_tree import ROUTER
from penstock.pipeline.run_config import Mode, RunConfig
from penstock.pipeline.sequence_numbers import assign_numbers, order_keys
from penstock.pipeline.shards import ROW
from penstock.pipeline.worker_heap import freeze_heap
from penstock.routing import (
    AnnotationKind,
    AnnotationReport,
    Deliveries,
    Delivery,
    DigestConfirmation,
    DigestRequest,
    DocumentRefused,
    ForwardDiscarded,
    ForwardedDocument,
    MessageReceived,
    MessageRefused,
    NeighbourDistrusted,
    Publish,
    Router,
    RouterInput,
    RouterMessage,
    SendMessage,
    SubscriptionDelta,
    SubscriptionSnapshot,
    SubscriptionsSetAside,
)
from penstock.workspace.content_digest import content_digest
from penstock.workspace.table_schemas import (
    CONTENT_DIGEST,
    DOCUMENTS,
    FRAGMENTS_OMITTED,
    MATCHES,
)
from penstock.workspace.timestamps import utc_now

_HEADER: Final = [name for name in DOCUMENTS.names if name != "content"]

_MATCH: Final = pa.struct(
    [MATCHES.field(name) for name in ("subscription", "subscriber", "fragments")]
)

_ROUTED_HEADER: Final[list[pa.Field[Any]]] = [DOCUMENTS.field(name) for name in _HEADER]

ROUTED: Final = pa.schema(
    [
        *_ROUTED_HEADER,
        pa.field(ROUTER, pa.string(), nullable=False),
        pa.field("hop", pa.int32(), nullable=False),
        pa.field("source", pa.string()),
        pa.field("reading", pa.string()),
        pa.field("matches", pa.list_(pa.field("element", _MATCH, nullable=False))),
        pa.field("forwards", pa.list_(pa.string())),
        pa.field("error", ERROR_TYPE),
        pa.field("set_aside", pa.list_(pa.string())),
        pa.field("contradiction", pa.string()),
    ]
)
"""One row per document and router that received it. ``reading`` is ``whole``, ``part`` or ``none``:
how much of the document the router read. ``contradiction`` says which annotations proved to be
wrong when they were verified; what was read counts."""

_INTERNAL: Final = {
    ROW: pa.int64(),
    "order_key": pa.int64(),
    "place": pa.string(),
    "bytes": pa.int64(),
    CONTENT_DIGEST.name: CONTENT_DIGEST.type,
    FRAGMENTS_OMITTED.name: FRAGMENTS_OMITTED.type,
    "content": pa.binary(),
    "mapping": pa.string(),
    "annotations": pa.binary(),
    "file": pa.string(),
}
"""Further columns of the rows between stages. A document that a router has yet to route has
``content``; ``place`` decides the partition of a row; ``file`` is a report in JSON."""

HOP_ROWS: Final = pa.schema({**{each.name: each.type for each in ROUTED}, **_INTERNAL})
"""The rows between stages."""


def route_documents(
    documents: DataFrame,
    tree: str,
    *,
    router: Value,
    mappings: str | None = None,
    annotations: Collection[AnnotationKind | str] = MATCH_LIST_ALONE,
    verified_share: float = 0.0,
    mode: Mode = "PERMISSIVE",
    at: datetime | None = None,
    limits: Limits | None = None,
) -> DataFrame:
    """Route documents through a tree of routers.

    The deliveries are those of the same routers as processes. Unlike these, it does not recognise
    a document that occurs twice: both are routed.

    Parameters
    ----------
    documents
        A DataFrame with the columns of :data:`penstock.pipeline.spark_schemas.DOCUMENTS`.
    tree
        The URI of a tree, from :func:`~penstock.pipeline.write_router_tree`; the driver reads it,
        too, on Spark Connect the client.
    router
        The router that each document is published at: a name, or an expression over columns.
    mappings
        The URI of mappings from :func:`~penstock.workspace.write_mappings`. The first router
        selects the mapping of a document, and the others use the same.
    annotations
        The kinds of annotations that documents carry to the next hop. They save work, and change
        nothing in the result.
    verified_share
        Share of the documents decided by annotations that are also read and compared. The row of
        a document that contradicts them says so in ``contradiction``: a defect of Penstock, since
        all annotations are those of the job.
    mode
        ``PERMISSIVE`` returns a refused document with its error, ``DROPMALFORMED`` drops it,
        ``FAILFAST`` fails the job, as it does at a contradiction.
    at
        Decides which subscriptions have started and not expired; by default the current time.
    limits
        The limits of documents.

    Returns
    -------
    One row per document and router that received it, in no particular order, in columns
    :data:`ROUTED`. :func:`~penstock.pipeline.matches_of` returns the matches.

    Raises
    ------
    PipelineError
        ``pipeline.columns`` or ``pipeline.mode``.
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
    RoutingError
        ``routing.tree``: the tree has no router of that name.
    """
    own_columns(documents.schema)
    routing = tree_routing(
        tree, mappings=mappings, limits=limits, kinds=annotations, verified_share=verified_share
    )
    stage = HopStage(
        routing=routing, at=utc_now() if at is None else at, config=RunConfig(mode=mode)
    )
    routed = route(documents, router, stage, EntryStage()).where(f.col("file").isNull())
    if mode == "DROPMALFORMED":
        routed = routed.where(f.col("error").isNull())
    return routed.select(*ROUTED.names)


def tree_routing(
    tree: str,
    *,
    mappings: str | None,
    limits: Limits | None,
    kinds: Collection[AnnotationKind | str],
    verified_share: float = 0.0,
) -> TreeRouting:
    """How the routers of a tree route.

    Raises
    ------
    RoutingError
        ``routing.option``: unknown kind of annotation.
    """
    try:
        chosen = frozenset(map(AnnotationKind, kinds))
    except ValueError as problem:
        raise error("routing.option", str(problem)) from None
    return TreeRouting(
        tree=tree,
        mappings=mappings,
        limits=limits or Limits(),
        annotations=chosen,
        verified_share=verified_share,
    )


def entered_documents(
    documents: DataFrame, router: Value, stage: HopStage
) -> tuple[DataFrame, int]:
    """The documents with the router that each is published at, and the number of hops to the
    farthest router.

    Raises
    ------
    IndexFileError
        The tree cannot be read.
    RoutingError
        ``routing.tree``: the tree has no router of that name.
    """
    topology = read_tree(stage.routing.tree).topology
    if isinstance(router, str):
        if router not in topology.neighbours:
            raise error("routing.tree", f"the tree has no router `{router}`")
        hops = topology.hops_from(router)
    else:
        hops = topology.hops_max
    column: Column = f.lit(router) if isinstance(router, str) else router
    entered = documents.select(
        *DOCUMENTS.names,
        f.coalesce(column.cast("string"), f.lit("")).alias(ROUTER),
        f.monotonically_increasing_id().alias(ROW),
    )
    return entered, hops


def route(documents: DataFrame, router: Value, stage: HopStage, entry: EntryStage) -> DataFrame:
    """The rows of :data:`HOP_ROWS` after the last hop: results and reports.

    Parameters
    ----------
    documents
        The documents.
    router
        The router that each is published at.
    stage
        Routes documents one hop further.
    entry
        Makes rows of the documents.

    Raises
    ------
    IndexFileError
        The tree cannot be read.
    RoutingError
        ``routing.tree``: the tree has no router of that name.
    """
    entered, hops = entered_documents(documents, router, stage)
    schema = from_arrow_schema(HOP_ROWS)
    rows = entered.mapInArrow(entry, schema)
    for hop in range(hops + 1):
        # Consecutive rows of a router, so that a worker opens one router after the other.
        placed = rows.repartition("place").sortWithinPartitions(ROUTER)
        rows = placed.mapInArrow(replace(stage, hop=hop), schema)
    return rows


@dataclass(frozen=True, slots=True)
class EntryStage:
    """Makes rows of :data:`HOP_ROWS` of the documents of publishers. Sent to the workers."""

    stream: str | None = None
    batch: int = 0
    """The stream and batch that documents get their numbers in, if they get any."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of :data:`HOP_ROWS`."""
        for batch in batches:
            numbered = batch
            if self.stream is not None:
                numbered = assign_numbers(batch, stream=self.stream, batch=self.batch)
            columns: dict[str, Any] = {name: numbered.column(name) for name in batch.schema.names}
            columns["hop"] = pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows)
            columns["order_key"] = order_keys(batch)
            columns["place"] = columns[ROUTER]
            yield hop_rows(columns)


def hop_rows(columns: dict[str, Any]) -> pa.RecordBatch:
    """Rows of :data:`HOP_ROWS`; missing columns are null."""
    length = len(next(iter(columns.values())))
    arrays = [
        _of_type(columns[each.name], each.type)
        if each.name in columns
        else pa.nulls(length, each.type)
        for each in HOP_ROWS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=HOP_ROWS)


def _of_type(column: Any, type_: pa.DataType) -> Any:  # noqa: ANN401
    """A column in another type. Arrow refuses to cast a null structure with required fields, even
    to its own type."""
    return column if column.type == type_ else column.cast(type_)


@dataclass(frozen=True, slots=True, kw_only=True)
class HopStage:
    """Routes the documents of a partition one hop further. Sent to the workers."""

    routing: TreeRouting
    at: datetime
    config: RunConfig
    log: DocumentLog | None = None
    """Where documents and dead letters are written, if anywhere."""

    hop: int = 0
    quarantine: Quarantine = field(default_factory=Quarantine)
    """Documents that are refused without being read."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of :data:`HOP_ROWS`: what was there, results, and documents for the next hop."""
        freeze_heap()
        writer = None if self.log is None else self.log.open()
        for batch in batches:
            is_arrived = batch.column("content").is_valid()
            if batch.column("content").null_count:
                # Spark's types differ from ours, for example in the time zone of the session.
                results = batch.filter(batch.column("content").is_null())
                yield hop_rows({name: results.column(name) for name in HOP_ROWS.names})
            for part in split_by_bytes(batch.filter(is_arrived)):
                columns = self._route(part)
                if writer is not None:
                    # Only the first router accepts a document; each may refuse it.
                    nothing = pa.repeat(pa.scalar(0, pa.int64()), part.num_rows)
                    writer.write(part, columns.errors, nothing, accepted=self.hop == 0)
                yield columns.results()
                yield columns.forwards(self.hop + 1)
        for report in writer.close() if writer is not None else ():
            # All reports of a task are in one partition: if the task is repeated, either all are of
            # the first attempt, or all are of the second.
            yield hop_rows({"file": pa.array([report]), "place": pa.array([""])})

    def _route(self, documents: pa.RecordBatch) -> _RoutedColumns:
        columns = _RoutedColumns(documents)
        refused = self.quarantine.refusals(documents)
        for row in range(documents.num_rows):
            if row in refused:
                columns.add(row, RoutedDocument(error=refused[row]))
            else:
                columns.add(row, self._one(columns.document(row)))
        if self.config.mode == "FAILFAST":
            columns.raise_first_error()
        return columns

    def open(self, router: str) -> Router | None:
        """A router of the tree; ``None`` if it has none of that name."""
        if router not in read_tree(self.routing.tree).routers:
            return None
        return cached_router(self.routing, router)

    def _one(self, arrived: ArrivedDocument) -> RoutedDocument:
        """Routes a document; a failure is an error of the document."""
        # A router that cannot be opened fails the job: its documents are not to blame.
        router = self.open(arrived.router)
        if router is None:
            unknown = DocumentError("document.router", f"the tree has no router `{arrived.router}`")
            return RoutedDocument(error=unknown)
        routed = RoutedDocument()
        try:
            routed.receive(router, arrived, self.at)
        except PROCESS_EXITS:
            raise
        except BaseException as failure:
            routed = RoutedDocument(error=internal_error(failure, arrived.content))
        if routed.error is not None and self.hop > 0:
            place = f"{routed.error.message} (at router `{arrived.router}`)"
            routed.error = DocumentError(
                routed.error.code, place, where=routed.error.where, report=routed.error.report
            )
        return routed


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRoute:
    """Routes documents from hop to hop in one process, to find those that end it. Sent to the
    workers.

    Several documents take each hop together, in the order of routers, as in the job. One after the
    other, each would open all its routers again, since only `OPEN_ROUTERS_MAX` stay open.
    """

    stage: HopStage
    entry: EntryStage
    hops: int

    def __call__(self, entered: pa.RecordBatch) -> Iterator[ProbeStep]:
        """Route documents as they entered."""
        for start in range(0, entered.num_rows, PROBED_TOGETHER_MAX):
            documents = entered.slice(start, PROBED_TOGETHER_MAX)
            for row in self._route(documents):
                yield ProbeStep(None if row is None else start + row, start)

    def _route(self, documents: pa.RecordBatch) -> Iterator[int | None]:
        """Route documents together; yields the row of each before a router routes it, and ``None``
        before a router is opened."""
        number = {id_: row for row, id_ in enumerate(documents.column(ROW).to_pylist())}
        arrived = pa.Table.from_batches(self.entry(iter([documents])))
        for hop in range(self.hops + 1):
            stage = replace(self.stage, hop=hop)
            forwards: list[pa.RecordBatch] = []
            for one in arrived.sort_by(ROUTER).combine_chunks().to_batches(max_chunksize=1):
                yield None
                stage.open(str(one.column(ROUTER)[0]))
                yield number[one.column(ROW)[0].as_py()]
                forwards += stage(iter([one]))
            rows = pa.Table.from_batches(forwards, HOP_ROWS)
            arrived = rows.filter(rows.column("content").is_valid())


@dataclass(frozen=True, slots=True)
class ArrivedDocument:
    """A document at a router."""

    router: str
    source: str | None
    document: str
    """Its identity."""

    publisher: str
    schema: str
    fields: Sequence[tuple[str, str]]
    content: bytes
    mapping: str | None
    annotations: bytes | None

    def as_input(self) -> RouterInput:
        """The input of the router core."""
        # An identity ends with the publisher's id of the document, or the digest in its place.
        _, _, id_ = self.document.partition("/")
        header = Header(
            publisher=self.publisher, schema=self.schema, id=id_, fields=dict(self.fields)
        )
        document = Document(self.content, header)
        if self.source is None:
            return Publish(document=document)
        forwarded = ForwardedDocument(
            document=document, mapping=self.mapping or "", annotations=self.annotations or b""
        )
        return MessageReceived(neighbour=self.source, message=forwarded)


@dataclass(slots=True)
class RoutedDocument:
    """What a router did with a document."""

    deliveries: list[Delivery] = field(default_factory=list)
    forwards: list[tuple[str, ForwardedDocument]] = field(default_factory=list)
    error: DocumentError | None = None
    set_aside: tuple[str, ...] = ()
    contradiction: str | None = None
    reading: str = "whole"

    def receive(self, router: Router, arrived: ArrivedDocument, at: datetime) -> None:
        """Let a router route a document."""
        before = router.counters
        for output in router.receive(arrived.as_input(), at):
            match output:
                case Deliveries():
                    self.deliveries = output.each()
                case SendMessage(neighbour=name, message=message):
                    self._send(name, message)
                case DocumentRefused(dead_letter=letter):
                    self.error = DocumentError(
                        letter.code, letter.message, where=letter.where, report=letter.report
                    )
                case SubscriptionsSetAside(subscriptions=ids):
                    self.set_aside = ids
                case NeighbourDistrusted(message=contradiction):
                    self.contradiction = contradiction
                case ForwardDiscarded() | MessageRefused():
                    raise AssertionError(f"links are up, and carry documents only: {output}")
                case _:
                    assert_never(output)
        after = router.counters
        if after.not_read > before.not_read:
            self.reading = "none"
        elif after.read_in_part > before.read_in_part:
            self.reading = "part"

    def _send(self, neighbour: str, message: RouterMessage) -> None:
        match message:
            case ForwardedDocument():
                self.forwards.append((neighbour, message))
            case AnnotationReport():
                pass  # of what annotations saved, for routers that choose them by that
            case (
                DigestRequest()
                | DigestConfirmation()
                | SubscriptionSnapshot()
                | SubscriptionDelta()
            ):
                raise AssertionError(f"interests do not change: {message}")
            case _:
                assert_never(message)


class _RoutedColumns:
    """Collects what routers did with the documents of a batch."""

    def __init__(self, documents: pa.RecordBatch) -> None:
        self._documents = documents
        rows = documents.select([each.name for each in fields(ArrivedDocument)]).to_pylist()
        self._arrived = [ArrivedDocument(**row) for row in rows]
        self._routed: list[RoutedDocument] = []

    def document(self, row: int) -> ArrivedDocument:
        """The document of a row."""
        return self._arrived[row]

    def add(self, row: int, routed: RoutedDocument) -> None:
        """Add what a router did with the document of the next row."""
        assert row == len(self._routed)
        self._routed.append(routed)

    def raise_first_error(self) -> None:
        """Raise the error of the first document that was refused or contradicts annotations."""
        for arrived, routed in zip(self._arrived, self._routed, strict=True):
            if routed.error is not None:
                message = f"{arrived.document}: {routed.error.message}"
                raise DocumentError(routed.error.code, message, where=routed.error.where)
            if routed.contradiction is not None:
                message = f"{arrived.document} at `{arrived.router}`: {routed.contradiction}"
                raise error("routing.annotations", message)

    @property
    def errors(self) -> pa.StructArray:
        """The error of each document; null if it is accepted."""
        errors = {row: each.error for row, each in enumerate(self._routed) if each.error}
        return error_array(errors, len(self._routed))

    def results(self) -> pa.RecordBatch:
        """A row for each document."""
        documents, routed = self._documents, self._routed
        kept = (*_HEADER, ROUTER, "hop", "source", ROW, "order_key")
        columns: dict[str, Any] = {name: documents.column(name) for name in kept}
        matches, omitted = self._matches()
        columns |= {
            # Results need no particular partition: they are spread.
            "place": documents.column("document"),
            "reading": pa.array([each.reading for each in routed]),
            "matches": matches,
            "forwards": pa.array(
                [[name for name, _ in each.forwards] for each in routed], pa.list_(pa.string())
            ),
            "error": self.errors,
            "set_aside": pa.array(
                [list(each.set_aside) or None for each in routed], pa.list_(pa.string())
            ),
            "contradiction": pa.array([each.contradiction for each in routed], pa.string()),
            "bytes": byte_lengths(documents.column("content")),
            CONTENT_DIGEST.name: pa.array(
                [
                    content_digest(arrived.content) if each.deliveries else None
                    for arrived, each in zip(self._arrived, routed, strict=True)
                ],
                pa.binary(),
            ),
            FRAGMENTS_OMITTED.name: pa.array(omitted, pa.int64()),
        }
        return hop_rows(columns)

    def _matches(self) -> tuple[pa.Array[Any], list[int | None]]:
        """The matches of each document, and the number of their fragments that were omitted."""
        deliveries = [each for routed in self._routed for each in routed.deliveries]
        fragments = FragmentRows()
        omitted: list[int | None] = []
        offsets = [0]
        for routed in self._routed:
            count = 0
            for at, delivery in enumerate(routed.deliveries, start=offsets[-1]):
                if delivery.fragments is not None:
                    count += fragments.add(
                        at,
                        delivery.fragments,
                        len(delivery.fragments),
                        omitted_before=delivery.fragments_omitted,
                        xml=delivery.xml,
                    )
            offsets.append(offsets[-1] + len(routed.deliveries))
            omitted.append(count or None)
        values = pa.StructArray.from_arrays(
            [
                pa.array([each.subscription for each in deliveries], pa.string()),
                pa.array([each.subscriber for each in deliveries], pa.string()),
                fragments.array(len(deliveries)),
            ],
            fields=list(_MATCH),
        )
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        return lists, omitted

    def forwards(self, hop: int) -> pa.RecordBatch:
        """A row for each neighbour that a document is forwarded to."""
        pairs = [
            (row, name, forwarded)
            for row, routed in enumerate(self._routed)
            for name, forwarded in routed.forwards
        ]
        rows = pa.array([row for row, _, _ in pairs], pa.int64())
        kept = (*_HEADER, "content", ROW, "order_key")
        columns: dict[str, Any] = {name: self._documents.column(name).take(rows) for name in kept}
        receivers = pa.array([name for _, name, _ in pairs], pa.string())
        columns |= {
            ROUTER: receivers,
            "place": receivers,
            "hop": pa.repeat(pa.scalar(hop, pa.int32()), len(pairs)),
            "source": self._documents.column(ROUTER).take(rows),
            "mapping": pa.array([each.mapping for _, _, each in pairs], pa.string()),
            "annotations": pa.array([each.annotations for _, _, each in pairs], pa.binary()),
        }
        return hop_rows(columns)
