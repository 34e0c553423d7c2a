"""A link as the link layer provides it: sessions that resume, and resets."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from penstock.routing import ForwardedDocument, RouterMessage


@dataclass
class Stream:
    """One direction of a session. Its sender stores what was not acknowledged, and its receiver
    stores how many messages it has processed, so both survive a restart."""

    unacknowledged: deque[tuple[float, RouterMessage]] = field(default_factory=deque)
    """Messages with the time at which they may arrive."""

    processed: int = 0
    """Of the unacknowledged messages, how many the receiver has processed."""

    def send(self, message: RouterMessage, arrival: float) -> None:
        self.unacknowledged.append((arrival, message))

    def next_arrival(self) -> float | None:
        """When the next message may arrive; messages arrive in order."""
        if self.processed == len(self.unacknowledged):
            return None
        return self.unacknowledged[self.processed][0]

    def next_message(self) -> RouterMessage:
        return self.unacknowledged[self.processed][1]

    def acknowledge(self, count: int) -> None:
        for _ in range(count):
            self.unacknowledged.popleft()
        self.processed -= count

    def end(self) -> tuple[ForwardedDocument, ...]:
        """Ends the session; returns the documents that the sender has to send again. The receiver
        may have processed some of them: these arrive twice."""
        documents = tuple(
            message for _, message in self.unacknowledged if isinstance(message, ForwardedDocument)
        )
        self.unacknowledged.clear()
        self.processed = 0
        return documents


@dataclass
class SimulatedLink:
    """The session of two routers, and whether they are connected."""

    ends: tuple[str, str]
    is_connected: bool = False
    is_partitioned: bool = False
    """Whether a partition prevents that they connect."""

    streams: dict[str, Stream] = field(default_factory=dict)
    """By sender."""

    def __post_init__(self) -> None:
        self.streams = {name: Stream() for name in self.ends}

    def other(self, name: str) -> str:
        return self.ends[1] if name == self.ends[0] else self.ends[0]
