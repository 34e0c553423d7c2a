"""Whole documents: files of a directory, and columns of a table."""

from __future__ import annotations

from typing import Unpack

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

from penstock.pipeline.document_headers import HeaderOptions, Value, documents_of

ENCODING_DECLARATION = r"""^(\s*<\?xml[^>]*?)\s+encoding\s*=\s*(?:"[^"]*"|'[^']*')"""
"""In text the encoding is a thing of the past, and what is declared of it not true any more."""

BINARY_FILES = "path string, modificationTime timestamp, length bigint, content binary"
"""The columns of Spark's source of binary files."""


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
    """Read XML files, a document each, by Spark's own source of binary files.

    Parameters
    ----------
    spark
        The session.
    path
        A directory, file or glob, or several; anything that Spark can read.
    publisher
        Who published them: a text, or an expression over the columns ``path``,
        ``modificationTime``, ``length`` and those that folders such as ``publisher=acme`` give.
    stream
        Whether files that appear later are read too, each once. Move files there whole.
    pattern
        Which file names, as a glob.
    recursive
        Whether folders within are read too; their names are then no columns.
    max_files_per_trigger, max_bytes_per_trigger
        How much a micro-batch takes. Spark knows one of them at a time.
    **header
        The rest of the header: see :class:`~penstock.pipeline.document_headers.HeaderOptions`. The
        field ``file`` is always set.

    Returns
    -------
    Documents. A document's time is that of its file.

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
    return documents_of(
        files,
        content=f.col("content"),
        published_at=f.col("modificationTime"),
        own_fields={"file": f.col("path")},
        publisher=publisher,
        **header,
    )


def read_column(
    spark: SparkSession,
    source: DataFrame | str,
    column: str,
    *,
    publisher: Value,
    stream: bool = False,
    published_at: Column | None = None,
    **header: Unpack[HeaderOptions],
) -> DataFrame:
    """Take documents from an XML column, of text or of bytes.

    Parameters
    ----------
    spark
        The session.
    source
        A DataFrame, read from whatever Spark can read, or the name of a table.
    column
        The column that holds the documents. Of text, an encoding that its XML declaration states
        is taken out: it was that of the bytes which the text was made from.
    publisher
        Who published them: a text, or an expression over the columns, such as ``col("source")``.
    stream
        Whether to read a named table as a stream. A DataFrame is what it is.
    published_at
        When each was published; if not given or null, now, which is one time in a micro-batch and
        the same when it is repeated.
    **header
        The rest of the header: see :class:`~penstock.pipeline.document_headers.HeaderOptions`.

    Returns
    -------
    Documents. A null is an empty document, which is refused when it is matched.

    Examples
    --------
    >>> from pyspark.sql.functions import col
    >>> table = spark.createDataFrame([("acme", 7, "<a/>")], "source string, n int, xml string")
    >>> documents = read_column(
    ...     spark, table, "xml", publisher=col("source"), id=col("n"), fields=["n"]
    ... )
    >>> row = documents.first()
    >>> row.document, row.fields, bytes(row.content)
    ('acme/7', {'n': '7'}, b'<a/>')
    """
    if isinstance(source, str):
        source = spark.readStream.table(source) if stream else spark.read.table(source)
    content = f.col(column)
    if isinstance(source.schema[column].dataType, StringType):
        content = f.encode(f.regexp_replace(content, ENCODING_DECLARATION, "$1"), "utf-8")
    return documents_of(
        source,
        content=content,
        published_at=f.current_timestamp() if published_at is None else published_at,
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
    """Spark's binary files; what is not selected of them, such as their content, is not read."""
    options = {"pathGlobFilter": pattern, "recursiveFileLookup": str(recursive).lower()}
    limits = {
        "maxFilesPerTrigger": max_files_per_trigger,
        "maxBytesPerTrigger": max_bytes_per_trigger,
    }
    options |= {name: str(limit) for name, limit in limits.items() if limit is not None}
    if not stream:
        return spark.read.format("binaryFile").options(**options).load(path)
    if not isinstance(path, str):
        raise ValueError("a stream is read from one path; use a glob for several folders")
    # A stream of files must know its columns beforehand.
    reader = spark.readStream.format("binaryFile").schema(BINARY_FILES)
    return reader.options(**options).load(path)
