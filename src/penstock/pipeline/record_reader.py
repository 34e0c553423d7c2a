"""Huge files, cut into records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.documents import RECORD_BYTES, Steps
from penstock.errors import error
from penstock.language import parse
from penstock.language.xpath.ast import Axis, Kind, Step
from penstock.pipeline.document_headers import HeaderOptions, Value, documents_of
from penstock.pipeline.limits import ARCHIVE_BYTES, ARCHIVE_RATIO, PARTITION_BYTES, TRIGGER_BYTES
from penstock.pipeline.record_source import OPTIONS, Asked, RecordsSource
from penstock.pipeline.record_splits import Cutting


def read_records(
    spark: SparkSession,
    path: str,
    records: str,
    *,
    publisher: Value,
    stream: bool = False,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
    entities: Mapping[str, str] | None = None,
    pattern: str = "*",
    recursive: bool = False,
    record_bytes: int = RECORD_BYTES,
    partition_bytes: int = PARTITION_BYTES,
    max_bytes_per_trigger: int = TRIGGER_BYTES,
    max_rows_per_trigger: int | None = None,
    archive_bytes: int = ARCHIVE_BYTES,
    archive_ratio: int = ARCHIVE_RATIO,
    **header: Unpack[HeaderOptions],
) -> DataFrame:
    """Cut huge files into records, a document each, without loading them whole.

    Parameters
    ----------
    spark
        The session.
    path
        A file, or a folder of files: a path or URI that every machine can read. Files whose names
        end in ``.gz`` are unpacked as they are read, each by one task.
    records
        The path to the records: names or ``*`` from the root on, such as ``/dblp/*``.
    publisher
        Who published them: a text, or an expression over the columns ``file``, ``position`` (the
        first byte), ``place`` (the number of records before it in its file), ``modified_at``,
        ``content`` and ``fault``.
    stream
        Whether files that appear later are read too, each once. Move files there whole.
    namespaces, default_namespace
        What prefixes in ``records`` mean, and names without one.
    entities
        Entities that records may refer to without declaring them: names and plain text.
    pattern
        Which file names, as a glob.
    recursive
        Whether folders within are read too.
    record_bytes
        Bytes of a record; a longer one is a faulty row.
    partition_bytes
        Bytes that a task reads. A longer file is read through once beforehand, to find where it
        can be divided.
    max_bytes_per_trigger, max_rows_per_trigger
        How much a micro-batch takes, under every trigger but ``once``.
    archive_bytes, archive_ratio
        How much a compressed file may unpack to: in bytes, and in times its own size.
    **header
        The rest of the header: see :class:`~penstock.pipeline.document_headers.HeaderOptions`. The
        fields ``file`` and ``offset`` are always set, and ``fault`` where a record is faulty.

    Returns
    -------
    Documents, each as it stands in the file if it can stand alone, and otherwise with the
    namespaces, entities and encoding that it inherits. Where a file is not well-formed, there are
    the records before the fault and then one row more, whose content is refused when it is matched.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> feed = pathlib.Path(tempfile.mkdtemp()) / "feed.xml"
    >>> _ = feed.write_bytes(b"<feed><entry>1</entry><other/><entry>2</entry></feed>")
    >>> documents = read_records(spark, str(feed), "/feed/entry", publisher="me")
    >>> [bytes(row.content) for row in documents.orderBy("sequence").collect()]
    [b'<entry>1</entry>', b'<entry>2</entry>']
    """
    asked = Asked(
        path=path,
        pattern=pattern,
        recursive=recursive,
        partition_bytes=partition_bytes,
        trigger_bytes=max_bytes_per_trigger,
        trigger_rows=max_rows_per_trigger,
        cutting=Cutting(
            steps=_steps(records, namespaces, default_namespace),
            entities=dict(entities or {}),
            record_bytes=record_bytes,
            archive_bytes=archive_bytes,
            archive_ratio=archive_ratio,
        ),
    )
    spark.dataSource.register(RecordsSource)
    reader = spark.readStream if stream else spark.read
    rows = reader.format(RecordsSource.name()).option(OPTIONS, asked.to_json()).load()
    return documents_of(
        rows,
        content=f.col("content"),
        published_at=f.col("modified_at"),
        place=f.col("place"),
        own_fields={"file": f.col("file"), "offset": f.col("position"), "fault": f.col("fault")},
        publisher=publisher,
        **header,
    )


def _steps(
    records: str, namespaces: Mapping[str, str] | None, default_namespace: str | None
) -> Steps:
    """The steps of a path that has no more than steps."""
    query = parse(records, namespaces=namespaces, default_namespace=default_namespace)
    steps = query.branches[0].steps
    if len(query.branches) > 1 or not steps or not all(map(_is_plain, steps)):
        raise error("records.path", f"{records} is not a path from the root to elements")
    return tuple((step.test.uri, step.test.local) for step in steps)


def _is_plain(step: Step) -> bool:
    return step.axis is Axis.CHILD and step.kind is Kind.ELEMENT and not step.predicates
