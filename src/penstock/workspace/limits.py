"""The named limits of a workspace."""

from __future__ import annotations

from typing import Final

CACHED_FILES_MAX: Final[int] = 16
"""Files of remote index versions in a machine's local cache; past it the least recently used are
removed."""

CHANGED_ROWS_MIN: Final[int] = 10_000
"""Rows added to or removed from an index version up to which it is never rebuilt, however small it
is."""

CHANGED_PERCENT_MAX: Final[int] = 5
"""Rows added or removed, in percent of an index version's rows, above which it is rebuilt: every
process that opens the version has to add them to the index again."""

BUSY_SECONDS_MAX: Final[int] = 60
"""Seconds that a process waits for another one's write transaction."""

NAME_CHARACTERS_MAX: Final[int] = 200
"""Characters in the name of a subscriber or a subscription."""

SUBSCRIPTIONS_AT_ONCE: Final[int] = 10_000
"""Subscriptions that are checked and stored in one transaction; an import of millions holds only
this many in memory."""

INBOX_FILE_BYTES: Final[int] = 64 << 20
"""Bytes of a journal file in the inbox from which the next entry begins a new file."""

JOURNAL_ENTRY_BYTES: Final[int] = 4 << 20
"""Bytes of documents with their headers in an entry of the journal, which is the unit of reading; a
larger document gets its own entry."""

JOURNAL_ROWS_BYTES_MAX: Final[int] = 2 << 30
"""Bytes of an entry of the journal, uncompressed and with all headers; an entry that claims more is
damaged."""

PUBLISHED_AT_ONCE_BYTES: Final[int] = 32 << 20
"""Bytes of documents with their headers that are published atomically, under one lock; other
publishers wait for it."""

PUBLISHED_AT_ONCE_MAX: Final[int] = 10_000
"""Documents that are published atomically, under one lock."""

DOCUMENT_BYTES_MAX: Final[int] = 1 << 30
"""Bytes of a published document; a larger one is refused by `publish`."""

PUBLISHED_SEQUENCE_MAX: Final[int] = 1 << 53
"""The largest sequence number of a published document. Larger ones belong to documents that the
pipeline read from elsewhere; they say nothing about how far an inbox is processed."""

CONTENTS_AT_ONCE: Final[int] = 100
"""Documents whose bytes are read from a table at a time, or first: as long as they are small, a
mailbox reads twice as many the next time."""

CONTENTS_AT_ONCE_MAX: Final[int] = 1_000
"""Documents of a mailbox whose bytes are read from a table at a time."""

CONTENT_BYTES_AT_ONCE: Final[int] = 8 << 20
"""Bytes of documents up to which a mailbox reads more of them the next time."""

EXPORTED_FILES_AT_ONCE: Final[int] = 1_000
"""Files that an export writes before it flushes them to disk together."""

LEFTOVER_HOURS: Final[int] = 24
"""Age in hours at which `penstock clean` removes an unused file; a younger one may belong to a
process that is still running."""

OBSOLETE_HOURS: Final[int] = 1
"""Age in hours at which a table's file is removed that compaction or retention has replaced, and an
entry of the table's log. A reader that opened the table before may read them until then."""

REPLACED_FILES_HOURS: Final[int] = 24
"""Hours for which a table's log names the files that compaction or retention has replaced. One that
was not removed by then is found like a file that was never committed."""

UNCOMMITTED_HOURS: Final[int] = 168
"""Age in hours at which a file in a table's folder is removed that no commit ever referred to: left
by a task that failed, or written by a batch that is still running."""

BATCH_RECORD_HOURS: Final[int] = 1
"""Hours for which the record of a committed batch is kept: it states which subscriptions and
mappings the batch used."""

LOG_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of the log of Spark's messages above which it is emptied."""

RETENTION_DAYS_MAX: Final[int] = 36_500
"""Days in a retention policy."""

MAINTENANCE_SECONDS: Final[int] = 600
"""Seconds between two removals of data that a running stream no longer needs."""

DELIVERY_RUN_BYTES: Final[int] = 32 << 20
"""Bytes of deliveries that a task holds in memory; then it sorts them by subscriber and writes
them."""

RECENT_BYTES_MAX: Final[int] = 32 << 20
"""Bytes of the files with recent deliveries; past it, compaction moves them to the buckets."""

RECENT_FILES_MAX: Final[int] = 32
"""Files with recent deliveries; past it, compaction merges them."""

RECENT_DOCUMENT_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of the files with recent documents; past it, compaction compresses them. It reads about as
many into memory at a time; a larger file is read by itself."""

RECENT_DOCUMENT_FILES_MAX: Final[int] = 32
"""Files with recent documents; past it, compaction compresses and merges them."""

MERGED_BYTES_MAX: Final[int] = 16 << 20
"""Bytes of the files with recent deliveries that compaction reads into memory at a time; a larger
file is read by itself."""

DELIVERY_FRAGMENTS_MAX: Final[int] = 1_000
"""Fragments in a delivery, unless the subscription sets its own limit: the first in the document,
for keywords the best answers. If there are more, a last fragment of the kind `more` states how many
were left out."""

SUBSCRIPTION_FRAGMENTS_MAX: Final[int] = 100_000
"""The largest limit on the fragments in a delivery that a subscription can set."""

DELIVERY_FRAGMENT_BYTES_MAX: Final[int] = 16_777_216
"""Bytes of the fragments in a delivery, in UTF-8. Those past it are left out, except the first, and
the fragment of the kind `more` counts them."""

ROUTER_DEAD_LETTERS_MAX: Final[int] = 1_000
"""Refused documents that the state of a router keeps, the latest."""

ROUTER_DEAD_LETTER_BYTES_MAX: Final[int] = 1 << 30
"""Bytes of these documents; the latest one may be longer."""

ROUTER_UNCLEAN_ENDS_MAX: Final[int] = 1_000
"""Documents of which the state of a router keeps how often the process ended while it was working
on them. Past it, all are forgotten."""

BASEX_ANSWER_BYTES_MAX: Final[int] = 2 << 30
"""Bytes of an answer of a BaseX server; a longer one is refused with ``sync.basex``."""

BASEX_SECONDS_MAX: Final[float] = 120.0
"""Time that a BaseX server may take to send or to accept something; likewise."""
