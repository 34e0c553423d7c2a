"""The limits of a peer process."""

from __future__ import annotations

from typing import Final

from penstock.links import LinkLimits

PUBLISHED_DOCUMENT_BYTES_MAX: Final[int] = 16 << 20
"""Bytes of a document; a source refuses longer ones."""

PEER_LINK_LIMITS: Final = LinkLimits(header_bytes=1 << 20)
"""Limits of the links between peers."""

OUTGOING_LINKS_MAX: Final[int] = 1_024
"""Peers that a peer has links to. Past it, the link that was unused for the longest time is closed,
parents and children last."""

IDLE_SECONDS: Final[float] = 30.0
"""Time after which a link to a peer that is neither parent nor child is closed."""

CONGESTED_MESSAGES: Final[int] = 200
"""Messages to a child that it has not acknowledged, from which on no documents are acknowledged to
the parent, and a source publishes none: back-pressure. The windows of links are larger, so that
heartbeats still pass."""

CONGESTED_BYTES: Final[int] = 4 << 20
"""Bytes of messages to a child that it has not acknowledged, likewise."""

SLOW_SECONDS: Final[float] = 10.0
"""Time without an acknowledgement after which nobody waits for a child any longer. What does not
fit into the window of its link is lost, and replayed if the child recovers in time."""

WAITING_DELIVERIES_MAX: Final[int] = 500
"""Deliveries that wait to be written, from which on no documents are acknowledged to the parent."""

DRAIN_SECONDS: Final[float] = 2.0
"""Time for the last messages of a peer that stops."""

REQUEST_SECONDS: Final[float] = 10.0
"""Time for an answer to a request for the status of a peer."""

TREES_MAX: Final[int] = 64
"""Trees that a peer joins."""

STATUS_BYTES_MAX: Final[int] = 4 << 20
"""Bytes of the status of a peer."""

CRAWL_REQUESTS_MAX: Final[int] = 16
"""Peers that are asked for their status at once."""

CRAWLED_PEERS_MAX: Final[int] = 10_000
"""Peers whose status is collected for a picture of a tree."""

WATCHED_FILES_MAX: Final[int] = 1_000_000
"""Files of a watched folder that a source remembers as published."""

LINE_BYTES_MAX: Final[int] = PUBLISHED_DOCUMENT_BYTES_MAX
"""Bytes of a line of standard input that is a document."""

POLL_SECONDS: Final[float] = 0.5
"""Time between two looks at a watched folder, and between two questions to a seed that is in no
tree."""

TOKEN_FILE_BYTES_MAX: Final[int] = 4_096
"""Bytes of a file that contains the token of a group."""
