"""Archives of documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.pipeline.archive_members import ArchiveLimits, members_of
from penstock.pipeline.document_headers import HeaderOptions, Value, documents_of
from penstock.pipeline.file_reader import binary_files
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

MEMBERS: Final = pa.schema(_MEMBERS)
"""What is known of a member: its archive and the archive's time, its name, how many come before it,
its bytes, and why it has none."""


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
    """Read archives of XML files, a document each: zip, tar, tar.gz, and single files in gzip.

    Spark finds the archives; each is unpacked by one task, member by member, where it is read.

    Parameters
    ----------
    spark
        The session.
    path
        A directory, file or glob, or several; a place that Spark and Arrow can both read.
    publisher
        Who published them: a text, or an expression over the columns ``path`` (the archive),
        ``modified_at``, ``member`` (its name), ``place``, ``content`` and ``fault``.
    stream
        Whether archives that appear later are read too, each once. Move them there whole.
    pattern, members
        Which archives, and which members of them, by their file names, as globs.
    recursive
        Whether folders within are read too.
    max_files_per_trigger, max_bytes_per_trigger
        How much a micro-batch takes, in archives as they are stored.
    archive_bytes, archive_ratio, archive_members
        How much an archive may unpack to: in bytes, in times its own size, in members.
    member_bytes
        How long a member may be.
    **header
        The rest of the header: see :class:`~penstock.pipeline.document_headers.HeaderOptions`. The
        fields ``file`` and ``member`` are always set, and ``fault`` where a member cannot be read.

    Returns
    -------
    Documents, in the order of the archive. What is damaged, encrypted or too much is a row whose
    content is empty, and refused when it is matched; past a limit of the whole archive there is one
    such row for all the rest.

    Examples
    --------
    >>> import tempfile, pathlib, zipfile
    >>> archive = pathlib.Path(tempfile.mkdtemp()) / "a.zip"
    >>> with zipfile.ZipFile(archive, "w") as made:
    ...     made.writestr("one.xml", "<a/>")
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
                yield from _unpacked(row, members, limits)

    found = archives.select("path", "length", f.col("modificationTime").alias("modified_at"))
    return documents_of(
        found.mapInArrow(unpack, from_arrow_schema(MEMBERS)),
        content=f.col("content"),
        published_at=f.col("modified_at"),
        place=f.col("place"),
        own_fields={"file": f.col("path"), "member": f.col("member"), "fault": f.col("fault")},
        publisher=publisher,
        **header,
    )


def _unpacked(
    archive: dict[str, Any], pattern: str, limits: ArchiveLimits
) -> Iterator[pa.RecordBatch]:
    """The members of an archive, in batches that are bounded in bytes."""
    rows: list[dict[str, Any]] = []
    size = 0
    with open_file(archive["path"]) as file:
        for member in members_of(file, archive["path"], archive["length"], pattern, limits):
            rows.append(
                {
                    "path": archive["path"],
                    "modified_at": archive["modified_at"],
                    "member": member.name,
                    "place": member.place,
                    "content": member.content,
                    "fault": None if member.fault is None else str(member.fault),
                }
            )
            size += len(member.content)
            if size >= ROW_BATCH_BYTES:
                yield pa.RecordBatch.from_pylist(rows, schema=MEMBERS)
                rows, size = [], 0
    yield pa.RecordBatch.from_pylist(rows, schema=MEMBERS)
