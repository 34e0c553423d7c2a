"""Reads the files of a directory, one document each."""

from __future__ import annotations

from typing import Unpack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.pipeline.document_headers import HeaderOptions, Value, documents_from

BINARY_FILES = "path string, modificationTime timestamp, length bigint, content binary"
"""The schema of Spark's binary file source."""


def read_directory(
    spark: SparkSession,
    path: str | list[str],
    *,
    publisher: Value,
    stream: bool = False,
    pattern: str = "*",
    recursive: bool = False,
    max_files_per_trigger: int | None = None,
    max_bytes_per_trigger: int | None = None,
    **header: Unpack[HeaderOptions],
) -> DataFrame:
    """Read XML files, one document each, with Spark's binary file source.

    Parameters
    ----------
    spark
        The session.
    path
        A directory, file or glob, or a list of them; any path that Spark can read.
    publisher
        The publisher: a constant, or an expression over the columns ``path``,
        ``modificationTime``, ``length`` and the partition columns of folders such as
        ``publisher=acme``.
    stream
        Whether to read new files as they appear, each once. Move files into the folder atomically.
    pattern
        A glob that file names must match.
    recursive
        Whether to read subfolders too; folder names are then not partition columns.
    max_files_per_trigger, max_bytes_per_trigger
        The size of a micro-batch. Spark accepts only one of them.
    **header
        Other header values: see :class:`~penstock.pipeline.document_headers.HeaderOptions`. The
        field ``file`` is always set.

    Returns
    -------
    Documents. A document's publishing time is the modification time of its file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.xml").write_bytes(b"<a/>")
    >>> documents = read_directory(spark, str(folder), publisher="me")
    >>> bytes(documents.first().content)
    b'<a/>'
    """
    files = binary_files(
        spark,
        path,
        stream=stream,
        pattern=pattern,
        recursive=recursive,
        max_files_per_trigger=max_files_per_trigger,
        max_bytes_per_trigger=max_bytes_per_trigger,
    )
    return documents_from(
        files,
        content=f.col("content"),
        published_at=f.col("modificationTime"),
        source_fields={"file": f.col("path")},
        publisher=publisher,
        **header,
    )


def binary_files(
    spark: SparkSession,
    path: str | list[str],
    *,
    stream: bool,
    pattern: str,
    recursive: bool,
    max_files_per_trigger: int | None,
    max_bytes_per_trigger: int | None,
) -> DataFrame:
    """Spark's binary file source. Columns that are not selected, such as content, are not read."""
    options = {"pathGlobFilter": pattern, "recursiveFileLookup": str(recursive).lower()}
    limits = {
        "maxFilesPerTrigger": max_files_per_trigger,
        "maxBytesPerTrigger": max_bytes_per_trigger,
    }
    options |= {name: str(limit) for name, limit in limits.items() if limit is not None}
    if not stream:
        return spark.read.format("binaryFile").options(**options).load(path)
    if not isinstance(path, str):
        raise ValueError("a stream reads one path; use a glob for several folders")
    # A streaming file source needs an explicit schema.
    reader = spark.readStream.format("binaryFile").schema(BINARY_FILES)
    return reader.options(**options).load(path)
