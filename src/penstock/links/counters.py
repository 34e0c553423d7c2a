"""What links count, for metrics."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

__all__ = ["LinkCounters"]


@dataclass(slots=True)
class LinkCounters:
    """Counters of a link since it was made; the last four are current values."""

    connections: int = 0
    frames_sent: int = 0
    frames_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    messages_sent: int = 0
    """Transmissions of messages, retransmissions included."""
    messages_received: int = 0
    """Messages handed over to the application."""
    retransmissions: int = 0
    """Messages that were transmitted again after a reconnect."""
    duplicates: int = 0
    """Messages that were received again and suppressed."""
    resets: int = 0
    status_events_discarded: int = 0
    unacknowledged_messages: int = 0
    """Messages in the send buffer."""
    unacknowledged_bytes: int = 0
    unstored_messages: int = 0
    """Messages that were received and that the application has not acknowledged."""
    unstored_bytes: int = 0

    def __add__(self, other: Self) -> LinkCounters:
        return LinkCounters(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        )
