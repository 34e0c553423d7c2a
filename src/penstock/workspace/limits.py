"""Every limit of a workspace, by name."""

from __future__ import annotations

from typing import Final

OPEN_VERSIONS_MAX: Final[int] = 4
"""Index versions that a process keeps open; past it the one not used for longest is closed."""

CACHED_FILES_MAX: Final[int] = 16
"""Files of index versions that a machine keeps in its cache, of folders that are not its own; past
it those not used for longest are removed."""

CHANGED_ROWS_MIN: Final[int] = 10_000
"""Rows added to or removed from an index version before it is built anew, however small it is."""

CHANGED_PERCENT_MAX: Final[int] = 5
"""Rows added or removed, in a hundred of an index version's rows, before it is built anew: each
process that opens the version adds them once more."""

BUSY_SECONDS_MAX: Final[int] = 60
"""How long a process waits for another one that writes to the same workspace."""

NAME_CHARACTERS_MAX: Final[int] = 200
"""Characters in the name of a subscriber or a subscription."""

SUBSCRIPTIONS_AT_ONCE: Final[int] = 10_000
"""Subscriptions that are looked at, and stored, together: of an import of millions, so many are in
memory."""

INBOX_FILE_BYTES: Final[int] = 64 << 20
"""Bytes of documents in a file of the inbox; a larger document has a file of its own."""

INBOX_FILE_DOCUMENTS: Final[int] = 50_000
"""Documents in a file of the inbox."""

INBOX_ROW_GROUP_BYTES: Final[int] = 8 << 20
"""Bytes of documents in a row group of such a file: what is read at a time."""

DOCUMENT_BYTES_MAX: Final[int] = 1 << 30
"""Bytes of a document that is published; a larger one is refused at once."""

CONTENTS_AT_ONCE: Final[int] = 100
"""Documents whose bytes are read out of a table together."""

FOLLOW_HOURS: Final[int] = 1
"""How far back whoever follows a mailbox looks for deliveries that were committed late."""

LEFTOVER_HOURS: Final[int] = 24
"""How old a file that nothing uses must be before it counts as left over: a younger one may belong
to work that goes on."""

DELIVERY_FRAGMENTS_MAX: Final[int] = 1_000
"""Fragments that a delivery has at most, the first in the document; of keywords, the best answers.
One more of the kind `more` follows them where there were others, and says how many."""
