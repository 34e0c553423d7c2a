"""The limits of synchronisation over HTTP."""

from __future__ import annotations

from typing import Final

SYNC_REQUEST_BYTES_MAX: Final[int] = 32 << 20
"""Bytes of a request to a server; a longer one is refused with ``sync.request-bytes``."""

SYNC_ANSWER_BYTES_MAX: Final[int] = 2 << 30
"""Bytes of an answer that a client accepts; a longer one is refused with ``sync.answer-bytes``."""

SYNC_REQUEST_SECONDS_MAX: Final[float] = 60.0
"""Time in which the bytes of a request have to arrive; a slower one is refused with
``sync.request-slow``."""

SYNC_HEAD_SECONDS_MAX: Final[float] = 15.0
"""Time in which the head of a request has to arrive; a connection that is slower is closed."""

SYNC_BODIES_MAX: Final[int] = 8
"""Requests whose bytes a server holds at once; further ones wait, unread."""

SYNC_CONNECTIONS_MAX: Final[int] = 1_000
"""Connections and requests of a server at once; a further one is answered with status 503."""

SYNC_STREAMS_MAX: Final[int] = 500
"""Streams of messages of a document at once; a further one is refused with ``sync.streams``."""

SYNC_STREAM_MESSAGES_MAX: Final[int] = 16
"""Messages that wait in a stream; a client that is slower is disconnected, and asks again."""

SYNC_HEARTBEAT_SECONDS: Final[float] = 15.0
"""Time after which a stream without messages carries a comment, so that both sides notice a lost
connection; a revoked token ends the stream then, too."""

SYNC_ANSWER_SECONDS_MAX: Final[float] = 120.0
"""Time that a client waits for an answer, or for anything in a stream."""

SYNC_ATTEMPTS_MAX: Final[int] = 5
"""Attempts of a client to send a request; between them it waits, twice as long each time."""

SYNC_EXCHANGES_MAX: Final[int] = 100
"""Requests of one command; beyond it, the command ends with ``sync.stale``."""

SYNC_DOCUMENTS_MAX: Final[int] = 1_000
"""Documents of a server."""

SYNC_ACCOUNTS_MAX: Final[int] = 100_000
"""Accounts in a token file."""

LOGGED_EVENTS_MAX: Final[int] = 10_000
"""Events in the log of a working directory; older ones are removed."""

LOGGED_CHARACTERS_MAX: Final[int] = 100_000
"""Characters of an event in the log of a working directory; the rest is cut off."""
