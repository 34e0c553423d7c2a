"""Reads huge files as records, one document each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.documents import RECORD_BYTES, Steps
from penstock.errors import error
from penstock.language import parse
from penstock.language.xpath.ast import Axis, Kind, Step
from penstock.pipeline.document_headers import HeaderOptions, Value, documents_from
from penstock.pipeline.limits import ARCHIVE_BYTES, ARCHIVE_RATIO, PARTITION_BYTES, TRIGGER_BYTES
from penstock.pipeline.record_source import OPTIONS_KEY, RecordSource, RecordSourceOptions
from penstock.pipeline.record_splits import RecordOptions


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
    """Split huge files into records, one document each, in bounded memory.

    Parameters
    ----------
    spark
        The session.
    path
        A file, or a folder of files: a path or URI that all machines can read. A file whose name
        ends in ``.gz`` is decompressed as it is read, by one task.
    records
        The path to the records: names or ``*`` from the root, such as ``/dblp/*``.
    publisher
        The publisher: a constant, or an expression over the columns ``file``, ``position`` (the
        byte offset), ``place`` (the record's index in the file), ``modified_at``, ``content`` and
        ``fault``.
    stream
        Whether to read new files as they appear, each once. Move files into the folder atomically.
    namespaces, default_namespace
        The namespaces of prefixes in ``records``, and of names without a prefix.
    entities
        Entities that records may use without declaring them: names and replacement text.
    pattern
        A glob that file names must match.
    recursive
        Whether to read subfolders too.
    record_bytes
        The limit of a record's bytes; a longer record becomes a faulty row.
    partition_bytes
        Bytes that a task reads. A longer file is scanned once beforehand, to find where it can be
        split.
    max_bytes_per_trigger, max_rows_per_trigger
        The size of a micro-batch, with every trigger but ``once``.
    archive_bytes, archive_ratio
        Limits of a compressed file: uncompressed bytes and compression ratio.
    **header
        Other header values: see :class:`~penstock.pipeline.document_headers.HeaderOptions`. The
        fields ``file`` and ``offset`` are always set, and ``fault`` where a record is faulty.

    Returns
    -------
    Documents. A record that is self-contained has its original bytes; others are extended by the
    namespaces, entities and encoding that they inherit. A file that is not well-formed yields the
    records before the error and one more row, whose content matching refuses.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> feed = pathlib.Path(tempfile.mkdtemp()) / "feed.xml"
    >>> _ = feed.write_bytes(b"<feed><entry>1</entry><other/><entry>2</entry></feed>")
    >>> documents = read_records(spark, str(feed), "/feed/entry", publisher="me")
    >>> [bytes(row.content) for row in documents.orderBy("sequence").collect()]
    [b'<entry>1</entry>', b'<entry>2</entry>']
    """
    options = RecordSourceOptions(
        path=path,
        pattern=pattern,
        recursive=recursive,
        partition_bytes=partition_bytes,
        trigger_bytes=max_bytes_per_trigger,
        trigger_rows=max_rows_per_trigger,
        records=RecordOptions(
            steps=_steps(records, namespaces, default_namespace),
            entities=dict(entities or {}),
            record_bytes=record_bytes,
            archive_bytes=archive_bytes,
            archive_ratio=archive_ratio,
        ),
    )
    spark.dataSource.register(RecordSource)
    reader = spark.readStream if stream else spark.read
    rows = reader.format(RecordSource.name()).option(OPTIONS_KEY, options.to_json()).load()
    return documents_from(
        rows,
        content=f.col("content"),
        published_at=f.col("modified_at"),
        position=f.col("place"),
        source_fields={"file": f.col("file"), "offset": f.col("position"), "fault": f.col("fault")},
        publisher=publisher,
        **header,
    )


def _steps(
    records: str, namespaces: Mapping[str, str] | None, default_namespace: str | None
) -> Steps:
    """The steps of a path that consists of child element steps only."""
    query = parse(records, namespaces=namespaces, default_namespace=default_namespace)
    steps = query.branches[0].steps
    if len(query.branches) > 1 or not steps or not all(map(_is_child_element, steps)):
        raise error("records.path", f"{records} is not a path of child elements from the root")
    return tuple((step.test.uri, step.test.local) for step in steps)


def _is_child_element(step: Step) -> bool:
    return step.axis is Axis.CHILD and step.kind is Kind.ELEMENT and not step.predicates
