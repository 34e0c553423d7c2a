"""Every limit of the pipeline's readers, by name."""

from __future__ import annotations

from typing import Final

PARTITION_BYTES: Final[int] = 64 << 20
"""Bytes of a file that one task reads; a longer file is first looked through for places between
records where it can be divided."""

TRIGGER_BYTES: Final[int] = 256 << 20
"""Bytes of records that a stream takes into a micro-batch; a longer record comes alone."""

STREAM_FILES_MAX: Final[int] = 100_000
"""Files in a folder whose records are streamed: the stream remembers which it has read. Files that
are removed from the folder are forgotten."""

ROW_BATCH_BYTES: Final[int] = 2 << 20
"""Bytes of documents that a reader hands to Spark at a time."""

ARCHIVE_BYTES: Final[int] = 16 << 30
"""Bytes that an archive or a compressed file may unpack to in all."""

ARCHIVE_RATIO: Final[int] = 1_000
"""How many times larger than itself an archive or a compressed file may unpack to; the first
megabyte is free."""

ARCHIVE_MEMBERS: Final[int] = 1_000_000
"""Members of an archive."""

MEMBER_BYTES: Final[int] = 256 << 20
"""Bytes of one member of an archive: a document is handed to Spark whole."""

INFERRED_ROWS_MAX: Final[int] = 1_000_000
"""Different paths, and attributes at them, that the documents may have which a schema is inferred
from; past it they are refused with ``schema.samples``."""
