"""The named limits of the pipeline."""

from __future__ import annotations

from typing import Final

OPEN_VERSIONS_MAX: Final[int] = 4
"""Index versions, and versions of the mappings, that a process keeps open; past it the least
recently used is closed."""

PARTITION_BYTES: Final[int] = 64 << 20
"""Bytes of a file of records that one task reads; a longer file is scanned for split points
first."""

TRIGGER_BYTES: Final[int] = 256 << 20
"""Bytes of records in a micro-batch of a stream; a longer record gets its own micro-batch."""

INBOX_BATCH_BYTES: Final[int] = 256 << 20
"""Bytes of documents in a micro-batch of a workspace's inbox; a larger document gets its own
micro-batch."""

INBOX_BATCH_DOCUMENTS: Final[int] = 100_000
"""Documents in a micro-batch of a workspace's inbox, unless a run sets another limit."""

INBOX_PARTITION_BYTES: Final[int] = 16 << 20
"""Bytes of documents of an inbox that one task reads, approximately, unless a batch would have more
tasks than `INBOX_TASKS_PER_SLOT` for each that can run at a time."""

INBOX_TASKS_PER_SLOT: Final[int] = 2
"""Tasks of a batch of an inbox, for each that can run at a time."""

INBOX_PARTITION_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of documents of an inbox above which a batch gets more tasks."""

STREAM_FILES_MAX: Final[int] = 100_000
"""Files in a folder whose records are streamed: the stream's offset lists those it has read. Files
removed from the folder do not count."""

ROW_BATCH_BYTES: Final[int] = 2 << 20
"""Bytes of documents that a reader passes to Spark at a time."""

ARCHIVE_BYTES: Final[int] = 16 << 30
"""Uncompressed bytes of an archive or compressed file."""

ARCHIVE_RATIO: Final[int] = 1_000
"""Compression ratio of an archive or compressed file; the first megabyte is exempt."""

ARCHIVE_MEMBERS: Final[int] = 1_000_000
"""Members of an archive; in a tar archive, folders and members that are not read count too."""

MEMBER_BYTES: Final[int] = 256 << 20
"""Bytes of one member of an archive, which is passed to Spark as one value."""

TAR_HEADER_BYTES_MAX: Final[int] = 1 << 20
"""Bytes of an extended header of a tar archive, which contains a long name or other properties of
the next member; beyond it, the archive is refused with ``archive.damaged``."""

SLICE_FRAGMENT_BYTES: Final[int] = 32 << 20
"""Bytes of fragments that a task passes to Spark at a time, except those of one document. The same
bytes are counted as for `DOCUMENT_FRAGMENT_BYTES_MAX`."""

DOCUMENT_FRAGMENT_BYTES_MAX: Final[int] = 256 << 20
"""Bytes of all fragments of a document that a task delivers: of their XML in UTF-8, and 16 for each
span and 32 for each fragment. Subscriptions whose fragments do not fit any more get the whole
document instead."""

INFERRED_ROWS_MAX: Final[int] = 1_000_000
"""Distinct paths and attributes in the documents that a schema is inferred from; past it inference
fails with ``schema.samples``."""

QUARANTINE_ROUNDS_MAX: Final[int] = 8
"""Runs of a batch's job, each without the documents that were found to end worker processes before;
then the batch fails. One further run is the rule, since all such documents are searched for at
once."""

SENT_INDEX_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of an index that is passed to ``match_documents`` itself, not by the URI of a version: it
is sent to the workers with each task. About 300,000 subscriptions."""

SHARDS_MAX: Final[int] = 256
"""Shards of the subscriptions of a workspace: every document is matched against each of them."""

WORKER_START_RETRIES_MAX: Final[int] = 12
"""Restarts of a stream whose Python processes did not start within the ten seconds that Spark
waits, as on a busy machine; then the run ends with `pipeline.failed`."""

PARSED_PATTERNS_MAX: Final[int] = 65_536
"""Parsed patterns that a worker caches while it compares subscriptions; past it the least recently
used is parsed again."""

CONTAINMENT_TASKS: Final[int] = 8
"""Default number of tasks that compute the containment order of subscriptions. Each has an index
of all patterns."""

TREE_ROUTERS_MAX: Final[int] = 10_000
"""Routers of a tree on Spark: every worker reads the names of the files of all of them."""

TREE_HOPS_MAX: Final[int] = 64
"""Hops between two routers of a tree on Spark, and levels around its center: each hop is a stage of
the job of a batch."""

OPEN_ROUTERS_MAX: Final[int] = 16
"""Routers of a tree that a worker process keeps open; past it the least recently used is closed."""

PROBED_TOGETHER_MAX: Final[int] = 256
"""Documents that take the hops of a tree together when those are searched for that end a process.
The routers are opened once for all of them; after a death, the others start again."""

SYNC_ROUND_REQUESTS_MAX: Final[int] = 1_000
"""Requests of a synchronised document in one round; a micro-batch with more has several rounds."""

CACHED_SYNC_NODES_MAX: Final[int] = 1_000_000
"""Nodes of the synchronised documents, and entries of their logs, that a worker keeps in memory
from one micro-batch to the next; past it, the least recently used document is restored from the
state store when it is needed again."""

STREAM_HORIZON_ENTRIES: Final[int] = 10_000
"""Entries of the log of a document in a stream, and so the statements of others that a client may
miss; beyond it, the client has to clone again."""

STREAM_CHECKPOINT_ENTRIES: Final[int] = 64
"""Acknowledged entries of the log after which the document is stored again. A worker that does not
have the document in memory executes the entries again: which worker executes the tasks of a
partition changes from one micro-batch to the next."""
