"""The limits of a running router."""

from __future__ import annotations

from typing import Final

from penstock.links import LinkLimits

MIB: Final = 1 << 20

DOCUMENT_HEADER_BYTES_MAX: Final[int] = 512 << 10
"""Bytes of a document's header, encoded, a mapping that it carries included. A longer one is
refused by the first router. The header of a message has room for what routers add."""

ROUTED_DOCUMENT_BYTES_MAX: Final[int] = 100 * MIB
"""Bytes of a document; a longer one is refused by the first router."""

ROUTER_LINK_LIMITS: Final = LinkLimits(header_bytes=1 * MIB, message_bytes=128 * MIB)
"""Limits of the links of routers and their clients. A message is a document or a statement of an
interest; 100,000 patterns of 1,000 bytes fit."""

INPUTS_AT_ONCE_MAX: Final[int] = 500
"""Inputs whose effects are committed in one transaction."""

INPUT_BYTES_AT_ONCE_MAX: Final[int] = 16 * MIB
"""Bytes of inputs whose effects are committed in one transaction; a longer one is alone."""

OUTBOX_MESSAGES_MAX: Final[int] = 5_000
"""Messages to a connected neighbour that it has not acknowledged, from which on the router reads no
further documents from others: back-pressure. The neighbour itself can still send."""

OUTBOX_BYTES_MAX: Final[int] = 64 * MIB
"""Bytes of messages to a connected neighbour that it has not acknowledged, likewise."""

SUBSCRIBER_DELIVERIES_MAX: Final[int] = 100_000
"""Deliveries that a router keeps for a subscriber that does not acknowledge them. Past it, the
oldest is discarded and counted."""

SUBSCRIBER_DELIVERY_BYTES_MAX: Final[int] = 4096 * MIB
"""Bytes of these deliveries, likewise; a delivery that is alone may be longer. A document that
several subscribers wait for is stored once and counts for each."""

DELIVERIES_AT_ONCE: Final[int] = 100
"""Deliveries that are read from the store at a time."""

SUBSCRIPTIONS_PER_SUBSCRIBER_MAX: Final[int] = 10_000
"""Subscriptions of a subscriber that is connected by a link."""

SET_ASIDE_SHOWN_MAX: Final[int] = 100
"""Subscriptions that the status of a router shows because they were set aside, those most often."""

UNCLEAN_ENDS_MAX: Final[int] = 2
"""Unclean ends of a router's process, by a crash or for lack of memory, while it was working on the
same document. After as many, the document is refused without being read."""

JOURNAL_DOCUMENTS_AT_ONCE: Final[int] = 200
"""Documents of the inbox that are read at a time."""

POLL_SECONDS: Final[float] = 0.5
"""Time between two looks at the workspace for new documents, subscriptions and mappings."""

EXPIRY_SECONDS: Final[float] = 60.0
"""Time between two removals of expired subscriptions. They receive nothing in the meantime."""

STATUS_SECONDS: Final[float] = 1.0
"""Time between two writes of the status."""

METRICS_REQUEST_BYTES_MAX: Final[int] = 16 << 10
"""Bytes of an HTTP request to the metrics endpoint."""

METRICS_REQUEST_SECONDS: Final[float] = 10.0
"""Time for an HTTP request to the metrics endpoint."""

METRICS_CONNECTIONS_MAX: Final[int] = 16
"""Connections to the metrics endpoint at once; further ones are closed."""

TOKEN_FILE_BYTES_MAX: Final[int] = 16 * MIB
"""Bytes of a token file."""

DOCUMENTS_UNDER_WAY_MAX: Final[int] = 1_000
"""Documents that a client has published and that have no receipt yet; then publishing waits."""
