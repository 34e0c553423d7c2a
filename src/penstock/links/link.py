"""The application's end of a link: it outlives connections, and waits where the core refuses."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from penstock.links.counters import LinkCounters
from penstock.links.events import (
    Acknowledged,
    Closed,
    Established,
    LinkEvent,
    MessageReceived,
    SessionReset,
)
from penstock.links.limits import STATUS_EVENTS, UNREAD_RESETS
from penstock.links.link_errors import link_error
from penstock.links.message import Message
from penstock.links.options import LinkOptions
from penstock.links.protocol import LinkProtocol
from penstock.links.session import Session

__all__ = ["Link", "StoreMessage"]

StoreMessage = Callable[[bytes, int, Message], None]
"""Stores a message before it is sent: session id, sequence number, the message."""


class Link:
    """A session with a peer, over as many connections as it takes.

    ``connect`` and ``serve`` make links. :meth:`receive` returns messages and what happens to the
    connection; :meth:`send` waits for room in the send buffer, and :meth:`acknowledge` tells the
    peer that a message is stored.
    """

    def __init__(self, *, session: Session, options: LinkOptions) -> None:
        self._session = session
        self._options = options
        self._protocol: LinkProtocol | None = None
        self._established: Established | None = None
        self._authenticated = False
        self._events: deque[LinkEvent] = deque()
        self._status_events = 0
        self._unread_resets = 0
        """Resets that the application has not read; until it has, it may not send."""
        self._changed = asyncio.Event()
        """Set when a waiting coroutine should look again."""
        self._send_lock = asyncio.Lock()
        self._past = LinkCounters()
        """Counters of connections that ended."""
        self._closed = False

    @property
    def peer(self) -> str:
        """Name of the peer."""
        return self._session.peer

    @property
    def connected(self) -> bool:
        """Whether a connection is established."""
        return self._established is not None

    @property
    def authenticated(self) -> bool:
        """Whether both sides proved that they know the token.

        The same for all connections and messages of a link, so it also holds for messages that are
        read after the connection has ended; false before the first connection.
        """
        return self._authenticated

    @property
    def session(self) -> Session:
        """The session, for its state; it changes only between two calls of the event loop."""
        return self._session

    @property
    def round_trip_seconds(self) -> float | None:
        """Time between the last heartbeat and its reply on this connection."""
        connection = self._protocol and self._protocol.connection
        return connection.round_trip_seconds if connection else None

    def counters(self) -> LinkCounters:
        """What was counted so far, and the current sizes of buffers."""
        counters = self._past + self._session.count()
        if self._protocol is not None and self._protocol.connection is not None:
            counters += self._protocol.connection.counters
        return counters

    # The application

    async def send(self, message: Message, *, store: StoreMessage | None = None) -> int:
        """Sends a message, and returns its sequence number.

        Waits while the send buffer is full, and after a :class:`SessionReset` until the application
        has received it; with ``store`` also until there is a session. Messages of concurrent
        callers are sent in the order of their calls.

        Parameters
        ----------
        message
            What to send; it stays in the send buffer until the peer acknowledges it.
        store
            Called before the message can leave, for applications that resume after a restart. It
            stores the session's id with the message: an application that was killed and did not
            know in which session a message left would send it again in another.

        Raises
        ------
        LocalLinkError
            The link is closed, or the message exceeds a limit.
        """
        self._session.check(message)
        async with self._send_lock:
            while True:
                self._check_open()
                if not self._unread_resets and (store is None or self._session.id):
                    if self._session.has_room(message):
                        break
                    self._session.sender_waits = True
                    self._wake()
                await self._wait()
            if store is not None:
                store(self._session.id, self._session.sent + 1, message)
            sequence = self._session.enqueue(message)
        self._wake()
        return sequence

    def try_send(self, message: Message) -> bool:
        """Sends a message if the send buffer has room, and returns whether it had.

        For applications whose protocol repeats what is lost. Nothing is sent after a
        :class:`SessionReset` until the application has received it, nor after the link was closed.

        Raises
        ------
        LocalLinkError
            The message exceeds a limit.
        """
        if self._closed or self._unread_resets or self._send_lock.locked():
            return False
        if self._session.try_enqueue(message) is None:
            self._wake()
            return False
        self._wake()
        return True

    async def receive(self) -> LinkEvent:
        """Waits for the next event and returns it.

        Raises
        ------
        LocalLinkError
            The link was closed by this side.
        """
        while not self._events:
            self._check_open()
            await self._wait()
        event = self._events.popleft()
        if isinstance(event, SessionReset):
            self._unread_resets -= 1
            self._notify()
        elif isinstance(event, Established | Closed):
            self._status_events -= 1
        return event

    def unreceive(self, events: Sequence[LinkEvent]) -> None:
        """Returns events to the link, of which :meth:`receive` is the next to give them again.

        For an application that decides by the first events who serves the link.
        """
        self._events.extendleft(reversed(events))
        self._status_events += sum(isinstance(each, Established | Closed) for each in events)
        self._unread_resets += sum(isinstance(each, SessionReset) for each in events)

    def acknowledge(self, received: MessageReceived) -> None:
        """States that this message and all before it are stored durably.

        Only then may the peer forget them, so whatever an application acknowledges too early is
        lost if its process is killed.
        """
        self._session.acknowledge(received.session_id, received.sequence)
        self._wake()

    async def drain(self) -> None:
        """Waits until the peer has acknowledged everything that was sent.

        After a :class:`SessionReset` it waits until the application has received that: it returns
        messages that were not acknowledged.
        """
        while self._unread_resets or self._session.sent > self._session.acknowledged:
            self._check_open()
            await self._wait()

    async def close(self) -> None:
        """Closes the connection and ends the link; the session's state stays in ``session``."""
        self._closed = True
        self._events.clear()
        self._notify()
        # The peer may connect again while its former connection is being closed.
        while (protocol := self._protocol) is not None:
            protocol.close()
            await protocol.finished.wait()
        self._session.forget_unstored()

    # The driver

    def deliver(self, protocol: LinkProtocol, events: list[LinkEvent]) -> None:
        """Takes the events of a connection."""
        self._adopt(protocol)
        for event in events:
            self._deliver(event)
        if self._closed:
            protocol.close()
        elif self._unread_resets >= UNREAD_RESETS:
            # None of the messages of this session was kept, so the peer sends them again.
            protocol.close()
            self._session.forget_unstored()
        self._notify()

    def _adopt(self, protocol: LinkProtocol) -> None:
        former = self._protocol
        if former is None or former is protocol:
            self._protocol = protocol
            return
        connection = former.connection
        assert connection is not None
        if connection.events_wait:
            # The former connection was superseded, and its last events come first.
            former.settle()
        self._retire(former)
        self._protocol = protocol

    def ended(self, protocol: LinkProtocol) -> None:
        """A transport is gone."""
        if self._protocol is protocol:
            self._retire(protocol)
            self._protocol = None
        self._notify()

    def _retire(self, protocol: LinkProtocol) -> None:
        assert protocol.connection is not None
        self._past += protocol.connection.counters
        self._established = None

    def _deliver(self, event: LinkEvent) -> None:
        match event:
            case Established():
                self._established = event
                self._authenticated = event.authenticated
            case Closed():
                self._established = None
            case SessionReset() if self._unread_resets >= UNREAD_RESETS:
                # The application has sent nothing since the last one, which says the same.
                assert not event.unacknowledged
                return
            case MessageReceived() if self._unread_resets >= UNREAD_RESETS:
                return
            case SessionReset():
                self._unread_resets += 1
            case Acknowledged() if self._events and isinstance(self._events[-1], Acknowledged):
                # Cumulative: the newer one says all that the older one said.
                self._events.pop()
        if self._closed:
            return
        self._events.append(event)
        if isinstance(event, Established | Closed):
            self._status_events += 1
            if self._status_events > STATUS_EVENTS:
                self._discard_status_event()

    def _discard_status_event(self) -> None:
        oldest = next(each for each in self._events if isinstance(each, Established | Closed))
        self._events.remove(oldest)
        self._status_events -= 1
        self._session.counters.status_events_discarded += 1

    def _check_open(self) -> None:
        if self._closed:
            raise link_error("link.closed", f"the link to {self.peer!r} was closed")

    def _wake(self) -> None:
        if self._protocol is not None:
            self._protocol.wake()

    async def _wait(self) -> None:
        await self._changed.wait()

    def _notify(self) -> None:
        # Wakes all that wait now; whoever waits later waits for the next change.
        self._changed.set()
        self._changed.clear()
