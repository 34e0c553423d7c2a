"""Documents against subscriptions, as a DataFrame of what became of each document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from penstock.documents import Limits
from penstock.errors import DocumentError, Where, error
from penstock.matching.batch import ERROR_TYPE
from penstock.mediation import MappingChooser
from penstock.pipeline.batch_matcher import Matching, Outcomes, slices
from penstock.workspace.index_versions import open_version
from penstock.workspace.mapping_versions import open_mappings
from penstock.workspace.table_schemas import DOCUMENTS, MATCHES, UNKNOWN

Mode: TypeAlias = Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]
"""What becomes of documents that are refused, in Spark's words."""

MODES: Final = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")

SHARD: Final = "shard"
"""The column that says which shard of the subscriptions a row meets."""

ROW: Final = "row"
"""The column that tells the rows of documents apart where each meets several shards: publishing the
same document twice gives two rows, sharded or not."""

_MATCH: Final = pa.struct([MATCHES.field("subscription"), MATCHES.field("fragments")])

OUTCOMES: Final = pa.schema(
    [
        *DOCUMENTS.remove(DOCUMENTS.get_field_index("content")),
        pa.field("matches", pa.list_(pa.field("element", _MATCH, nullable=False)), nullable=False),
        pa.field("error", ERROR_TYPE),
        UNKNOWN,
    ]
)
"""A row for each document: its header, its matches, the error where it was refused, and how many
elements its mapping's schema does not have."""

_HEADER: Final = [name for name in DOCUMENTS.names if name != "content"]


def match_documents(
    documents: DataFrame,
    versions: str | Sequence[str],
    *,
    fragments: bool = False,
    mappings: str | None = None,
    mode: Mode = "PERMISSIVE",
    at: datetime | None = None,
    limits: Limits | None = None,
) -> DataFrame:
    """Match documents against all subscriptions.

    Parameters
    ----------
    documents
        With the columns of :data:`penstock.pipeline.spark_schemas.DOCUMENTS`, as the readers of
        :mod:`penstock.pipeline.readers` give them.
    versions
        The URI of an index version, or of several shards of one: every document then meets every
        shard, and the result is the same.
    fragments
        Also return what each query selected.
    mappings
        The URI of mappings, as :func:`~penstock.workspace.write_mappings` gives it: each document
        is matched by the mapping that its header carries, or that is registered for its schema.
        Without it all are matched as they are.
    mode
        ``PERMISSIVE`` keeps a refused document's row, with the error and no matches;
        ``DROPMALFORMED`` leaves it out; ``FAILFAST`` fails.
    at
        The time that decides which subscriptions have started and not expired; all by default.
    limits
        How large a document may be, in every respect.

    Returns
    -------
    A row for each document, with its header, ``matches`` (subscription and fragments), ``error``
    (code, message, offset, line, column, hint) and ``unknown_elements``: how many its mapping's
    schema does not have. Rows are in no order.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.pipeline import read_column
    >>> from penstock.workspace import StoredSubscription, Workspace
    >>> wanted = StoredSubscription(id="cheap", subscriber="anna", query="//price[. < 10]")
    >>> with Workspace.create(tempfile.mkdtemp()) as workspace:
    ...     added = workspace.subscriptions.add(wanted)
    ...     version = workspace.current_version()
    >>> table = spark.createDataFrame([("<price>7</price>",), ("<price>",)], "xml string")
    >>> outcomes = match_documents(read_column(spark, table, "xml", publisher="me"), version)
    >>> outcomes.where("error is not null").first().error.code
    'xml.unclosed'
    >>> matches_of(outcomes).first().subscription
    'cheap'
    """
    shards = checked_versions(versions, mode)

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Opened here, in the worker, where it stays mapped for the batches to come.
        for batch in batches:
            for part in slices(batch):
                for shard, rows in by_shard(part):
                    version = open_version(shards[shard], limits=limits)
                    matching = Matching(version, at, chooser_of(mappings))
                    yield _outcomes_of(rows, matching, fragments=fragments, mode=mode)

    schema = from_arrow_schema(OUTCOMES)
    if len(shards) == 1:
        return documents.mapInArrow(match, schema)
    of_shards = StructType([StructField(ROW, LongType()), *schema])
    return _merged(with_shards(documents, len(shards)).mapInArrow(match, of_shards), schema)


def matches_of(outcomes: DataFrame) -> DataFrame:
    """A row for each match, with the columns of :data:`penstock.pipeline.spark_schemas.MATCHES`."""
    each = outcomes.select("document", f.explode("matches").alias("match"))
    return each.select("document", "match.subscription", "match.fragments")


def with_shards(documents: DataFrame, shards: int) -> DataFrame:
    """Let every document meet every shard, those of one shard together.

    A worker then maps the one shard it works on, not all of them.
    """
    if shards == 1:
        return documents
    numbers = f.explode(f.array(*map(f.lit, range(shards))))
    rows = documents.withColumn(ROW, f.monotonically_increasing_id())
    return rows.withColumn(SHARD, numbers).repartition(shards, SHARD)


def by_shard(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The parts of a batch that meet each shard; all of it meets the only one."""
    if SHARD not in batch.schema.names:
        yield 0, batch
        return
    compute: Any = pc
    numbers = batch.column(SHARD)
    for number in numbers.unique():
        yield int(number.as_py()), batch.filter(compute.equal(numbers, number))


def refuse_malformed(outcomes: Outcomes, batch: pa.RecordBatch) -> None:
    """Fail where a document was refused: the mode ``FAILFAST``."""
    for place in np.flatnonzero(outcomes.faults.is_valid().to_numpy(zero_copy_only=False)):
        fault: Any = outcomes.faults[int(place)].as_py()
        document = batch.column("document")[int(place)]
        where = Where(fault["offset"], fault["line"], fault["column"])
        raise DocumentError(
            fault["code"],
            f"{document}: {fault['message']}",
            where=None if fault["line"] is None else where,
        )


def checked_versions(versions: str | Sequence[str], mode: str) -> list[str]:
    """The versions as a list; that they and the mode make sense."""
    shards = [versions] if isinstance(versions, str) else list(versions)
    if not shards:
        raise error("pipeline.versions", "no version of the subscriptions was given")
    if mode not in MODES:
        raise error("pipeline.mode", f"there is no mode {mode!r} among {', '.join(MODES)}")
    return shards


def chooser_of(mappings: str | None) -> MappingChooser | None:
    """Who chooses documents' mappings, where there is anyone; it is kept open by the worker."""
    return None if mappings is None else open_mappings(mappings)


def _outcomes_of(
    documents: pa.RecordBatch, matching: Matching, *, fragments: bool, mode: Mode
) -> pa.RecordBatch:
    outcomes = matching.match(documents)
    if mode == "FAILFAST":
        refuse_malformed(outcomes, documents)
    wanted = np.full(len(outcomes.documents), fragments)
    matches = pa.StructArray.from_arrays(
        [
            *matching.subscriptions(outcomes, ["subscription"]),
            matching.fragments(documents.column("content"), outcomes, wanted=wanted),
        ],
        fields=list(_MATCH),
    )
    offsets = np.concatenate([[0], np.cumsum(outcomes.matches_each)])
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), matches)
    kept = [ROW, *_HEADER] if ROW in documents.schema.names else _HEADER
    rows = pa.RecordBatch.from_arrays(
        [
            *(documents.column(name) for name in kept),
            lists.cast(OUTCOMES.field("matches").type),
            outcomes.faults,
            pa.array(outcomes.unknown),
        ],
        names=[*kept, "matches", "error", UNKNOWN.name],
    )
    return rows.filter(outcomes.faults.is_null()) if mode == "DROPMALFORMED" else rows


def _merged(matched: DataFrame, schema: StructType) -> DataFrame:
    """One row a document of the rows that its shards gave; the rest is the same in all."""
    merged = matched.groupBy(ROW).agg(
        *(f.first(name).alias(name) for name in _HEADER),
        f.flatten(f.collect_list("matches")).alias("matches"),
        *(f.first(name).alias(name) for name in ("error", UNKNOWN.name)),
    )
    return merged.select(schema.names)
