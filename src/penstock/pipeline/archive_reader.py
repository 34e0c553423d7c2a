"""Reads archives of XML files, one document per member."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.pipeline.archive_members import ArchiveLimits, read_members
from penstock.pipeline.directory_reader import binary_files
from penstock.pipeline.document_headers import HeaderOptions, Value, documents_from
from penstock.pipeline.filesystem import open_file
from penstock.pipeline.limits import (
    ARCHIVE_BYTES,
    ARCHIVE_MEMBERS,
    ARCHIVE_RATIO,
    MEMBER_BYTES,
    ROW_BATCH_BYTES,
)

_TIME: Final[pa.TimestampType[Any, Any]] = pa.timestamp("us", tz="UTC")

_MEMBERS: list[pa.Field[Any]] = [
    pa.field("path", pa.string()),
    pa.field("modified_at", _TIME),
    pa.field("member", pa.string()),
    pa.field("place", pa.int64()),
    pa.field("content", pa.binary()),
    pa.field("fault", pa.string()),
]

ROW_OVERHEAD_BYTES: Final = 1_000
"""Approximate bytes of a row besides content and name: members may be empty."""

MEMBERS: Final = pa.schema(_MEMBERS)
"""One row per member: the archive's path and modification time, the member's name, its index in the
archive, its bytes, and the error if it could not be read."""


def read_archives(
    spark: SparkSession,
    path: str | list[str],
    *,
    publisher: Value,
    stream: bool = False,
    pattern: str = "*",
    members: str = "*",
    recursive: bool = False,
    max_files_per_trigger: int | None = None,
    max_bytes_per_trigger: int | None = None,
    archive_bytes: int = ARCHIVE_BYTES,
    archive_ratio: int = ARCHIVE_RATIO,
    archive_members: int = ARCHIVE_MEMBERS,
    member_bytes: int = MEMBER_BYTES,
    **header: Unpack[HeaderOptions],
) -> DataFrame:
    """Read archives of XML files, one document per member: zip, tar, tar.gz, and single gzip files.

    Spark lists the archives; one task reads each archive, member by member, as a stream.

    Parameters
    ----------
    spark
        The session.
    path
        A directory, file or glob, or a list of them, that both Spark and Arrow can read.
    publisher
        The publisher: a constant, or an expression over the columns ``path`` (the archive),
        ``modified_at``, ``member`` (the name), ``place`` (the index), ``content`` and ``fault``.
    stream
        Whether to read new archives as they appear, each once. Move them there atomically.
    pattern, members
        Globs that the file names of archives and members must match.
    recursive
        Whether to read subfolders too.
    max_files_per_trigger, max_bytes_per_trigger
        The size of a micro-batch, in archives and in their compressed bytes.
    archive_bytes, archive_ratio, archive_members
        Limits of an archive: uncompressed bytes, compression ratio, number of members.
    member_bytes
        The limit of a member's uncompressed bytes.
    **header
        Other header values: see :class:`~penstock.pipeline.document_headers.HeaderOptions`. The
        fields ``file`` and ``member`` are always set, and ``fault`` where a member cannot be read.

    Returns
    -------
    Documents, in archive order. A member that is damaged, encrypted, sparse or too large becomes a
    row with empty content, which matching refuses. If a limit of the archive is exceeded, one such
    row stands for all remaining members.

    Examples
    --------
    >>> import tempfile, pathlib, zipfile
    >>> archive = pathlib.Path(tempfile.mkdtemp()) / "a.zip"
    >>> with zipfile.ZipFile(archive, "w") as file:
    ...     file.writestr("one.xml", "<a/>")
    >>> row = read_archives(spark, str(archive), publisher="me").first()
    >>> row.fields["member"], bytes(row.content)
    ('one.xml', b'<a/>')
    """
    archives = binary_files(
        spark,
        path,
        stream=stream,
        pattern=pattern,
        recursive=recursive,
        max_files_per_trigger=max_files_per_trigger,
        max_bytes_per_trigger=max_bytes_per_trigger,
    )
    limits = ArchiveLimits(
        bytes=archive_bytes,
        ratio=archive_ratio,
        members=archive_members,
        member_bytes=member_bytes,
    )

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from _member_batches(row, members, limits)

    found = archives.select("path", "length", f.col("modificationTime").alias("modified_at"))
    return documents_from(
        found.mapInArrow(unpack, from_arrow_schema(MEMBERS)),
        content=f.col("content"),
        published_at=f.col("modified_at"),
        position=f.col("place"),
        source_fields={"file": f.col("path"), "member": f.col("member"), "fault": f.col("fault")},
        publisher=publisher,
        **header,
    )


def _member_batches(
    archive: dict[str, Any], pattern: str, limits: ArchiveLimits
) -> Iterator[pa.RecordBatch]:
    """The members of an archive, in batches of about ``ROW_BATCH_BYTES``."""
    rows: list[dict[str, Any]] = []
    size = 0
    with open_file(archive["path"]) as file:
        for member in read_members(file, archive["path"], archive["length"], pattern, limits):
            rows.append(
                {
                    "path": archive["path"],
                    "modified_at": archive["modified_at"],
                    "member": member.name,
                    "place": member.position,
                    "content": member.content,
                    "fault": None if member.fault is None else str(member.fault),
                }
            )
            size += len(member.content) + len(member.name) + ROW_OVERHEAD_BYTES
            if size >= ROW_BATCH_BYTES:
                yield pa.RecordBatch.from_pylist(rows, schema=MEMBERS)
                rows, size = [], 0
    yield pa.RecordBatch.from_pylist(rows, schema=MEMBERS)
