"""A peer on links: runs the protocol core, and carries out its outputs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import time
from collections.abc import Callable, Collection, Coroutine, Iterable
from typing import Any, Self

from penstock.documents import Document
from penstock.documents.failure_report import PROCESS_EXITS, internal_error
from penstock.errors import OverlayError, PenstockError, error
from penstock.links import (
    Address,
    Link,
    MessageReceived,
)
from penstock.overlay import (
    AnyPeerMessage,
    Connected,
    Deliver,
    Disconnected,
    GapReported,
    Left,
    MembershipState,
    MessageCodec,
    PatternInterest,
    PatternModel,
    Peer,
    PeerOutput,
    Send,
)
from penstock.overlay.message_codec import OVERLAY_MESSAGE
from penstock.overlay.peer_messages import AddRefused, AttachRefusal, Forward, Replay
from penstock.service.peer.endpoint import Endpoint
from penstock.service.peer.limits import (
    DRAIN_SECONDS,
    POLL_SECONDS,
    PUBLISHED_DOCUMENT_BYTES_MAX,
    TREES_MAX,
)
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.outgoing_links import OutgoingLinks
from penstock.service.peer.requests import (
    CLIENT_PREFIX,
    STATUS_REQUEST,
    ask_agent,
    ask_peer,
    status_message,
)
from penstock.service.peer.status import AgentStatus, PeerStatus, TreeStatus, new_counters

logger = logging.getLogger(__name__)

OnOutput = Callable[[PeerOutput], None]


class PeerService:
    """A peer that listens, connects to others, and takes part in trees.

    All methods run in the event loop; use it as an asynchronous context manager. The incarnation of
    the peer and the epoch of its source are the wall clock at the start, in milliseconds. If the
    clock went back, the source takes a larger epoch when a peer attaches that knows the former.

    Parameters
    ----------
    options
        Address, token, time-outs.
    on_output
        Called with every output of the core but ``Send``: deliveries, and changes of the place in a
        tree.
    has_room
        Whether the subscriber can take further deliveries; call :meth:`room_changed` when it can
        again.
    """

    def __init__(
        self,
        options: PeerServiceOptions,
        on_output: OnOutput,
        *,
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        self._options = options
        self._on_output = on_output
        self._has_room = has_room
        self.model = PatternModel()
        self._codec = MessageCodec(self.model)
        self._counters = new_counters()
        self._unacknowledged: dict[Link, MessageReceived] = {}
        """The last document of each link that is acknowledged when there is room again."""
        self._changed_interest: PatternInterest | None = None
        """The subscription after its last change, if there was one."""
        self._room = asyncio.Event()
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._endpoint = Endpoint(self._options)
        self.name = self._endpoint.name
        self.peer = Peer(
            self.name,
            model=self.model,
            random=random.Random(os.urandom(16)),
            options=self._options.peer,
            incarnation=time.time_ns() // 1_000_000,
        )
        self.links = OutgoingLinks(
            self._options,
            self._endpoint.link_options,
            on_unreachable=self._unreachable,
            on_progress=self.room_changed,
            neighbours=self._neighbours,
        )
        await self._endpoint.serve(self._serve_link)
        self._start(self._sweep())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.links.drain()
        await self.links.close()
        await self._endpoint.close()

    @property
    def address(self) -> Address:
        """Where the peer listens."""
        return self._endpoint.address

    # Commands

    def serve_source(self) -> None:
        """Become a source, and announce it to the system agent, if there is one."""
        epoch, now = self.peer.incarnation, self._loop.time()
        self._carry_out(self.peer.serve(epoch=epoch, now=now, agent=self._options.agent_name))

    async def publish(self, document: Document) -> int:
        """Publishes a document, and returns its sequence number. Waits for slow children.

        Raises
        ------
        OverlayError
            ``overlay.document``: it is too long.
        DocumentError
            ``internal.error``: a defect of Penstock.
        """
        if len(document.content) > PUBLISHED_DOCUMENT_BYTES_MAX:
            raise error("overlay.document", f"the document has {len(document.content):,} bytes")
        while self.is_congested:
            self._room.clear()
            await self._room.wait()
        try:
            outputs = self.peer.publish(document, self._loop.time())
        except (PenstockError, *PROCESS_EXITS):
            raise
        except BaseException as failure:
            # A panic of the native core is no Exception.
            self._counters["failed"] += 1
            raise internal_error(failure, document.content) from failure
        sequence = self.peer.membership(self.name).stream.cursor
        self._carry_out(outputs)
        self._counters["published"] += 1
        # Other tasks read acknowledgements and heartbeats.
        await asyncio.sleep(0)
        return sequence

    def join(self, source: str, interest: PatternInterest, seeds: Iterable[str] = ()) -> None:
        """Joins the tree of a source."""
        if len(self.peer.memberships) >= TREES_MAX:
            raise error("overlay.option", f"a peer joins at most {TREES_MAX} trees")
        now, agent = self._loop.time(), self._options.agent_name
        self._carry_out(self.peer.join(source, interest, now, seeds=seeds, agent=agent))

    def change_interest(self, interest: PatternInterest) -> None:
        """Changes the subscription in all trees that were joined.

        A narrower one is in force at once, another one with the next ``Connected``. Trees that are
        being looked for are joined with it.
        """
        self._changed_interest = interest
        now = self._loop.time()
        for source in self.peer.memberships:
            if source != self.name:
                self._carry_out(self.peer.change_interest(source, interest, now))

    async def join_at(self, seeds: Collection[Address], interest: PatternInterest) -> list[str]:
        """Joins all trees in which the peers at some addresses are, and those whose sources the
        agent knows. Returns the sources.

        Asks again until there is one.
        """
        while True:
            sources = await self._sources_known_at(seeds)
            sources.pop(self.name, None)
            for source, names in sources.items():
                if source not in self.peer.memberships:
                    self.join(source, self._changed_interest or interest, names)
            if sources:
                return list(sources)
            await asyncio.sleep(POLL_SECONDS)

    async def _sources_known_at(self, seeds: Collection[Address]) -> dict[str, list[str]]:
        """The sources that seeds and the agent know, each with the seeds that are in its tree."""
        asked: list[Coroutine[Any, Any, PeerStatus | AgentStatus]] = [
            ask_peer(address, self._options) for address in seeds
        ]
        if self._options.agent is not None:
            asked.append(ask_agent(self._options.agent, self._options))
        sources: dict[str, list[str]] = {}
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            match answer:
                case PeerStatus():
                    for tree in answer.trees:
                        sources.setdefault(tree.source, []).append(answer.name)
                case AgentStatus():
                    for source in answer.sources:
                        sources.setdefault(source, [])
                case OverlayError():
                    logger.warning("%s", answer)
                case BaseException():
                    raise answer
        return sources

    async def leave(self) -> None:
        """Leaves all trees, and returns when the children have found other parents."""
        for source in list(self.peer.memberships):
            self._carry_out(self.peer.leave(source, self._loop.time()))
        while any(
            each.state not in {MembershipState.OUTSIDE, MembershipState.ROOT}
            for each in self.peer.memberships.values()
        ):
            self._changed.clear()
            await self._changed.wait()

    def status(self) -> PeerStatus:
        """What the peer does."""
        trees = []
        for source, each in self.peer.memberships.items():
            gap = each.stream.gap
            wanted = each.filter.interest
            patterns = wanted.patterns if isinstance(wanted, PatternInterest) else ()
            trees.append(
                TreeStatus(
                    source=source,
                    state=each.state.value,
                    parent=each.parent,
                    path=each.path,
                    children=tuple(
                        child.name for child in each.children.values() if child.is_active
                    ),
                    epoch=each.stream.epoch,
                    position=each.stream.cursor,
                    missing=0 if gap is None else gap[1] - gap[0] + 1,
                    overhead=min(1.0, max(0.0, each.overlap.overhead())),
                    patterns=len(patterns),
                )
            )
        memberships = self.peer.memberships.values()
        counters = {
            **self._counters,
            "dropped": self.links.dropped,
            "unheld": sum(each.stream.dropped for each in memberships),
            "evicted": sum(each.overlap.summary.evicted for each in memberships),
            "matched": self.model.matcher.passes,
            "emptied": self.model.matcher.generation,
        }
        return PeerStatus(
            name=self.name,
            fan_out=self._options.peer.fan_out,
            trees=tuple(trees),
            counters=counters,
        )

    async def children(self, count: int) -> None:
        """Waits until this source has some number of children."""
        while True:
            active = [
                each for each in self.peer.membership(self.name).children.values() if each.is_active
            ]
            if len(active) >= count:
                return
            self._changed.clear()
            await self._changed.wait()

    # Back-pressure

    @property
    def is_congested(self) -> bool:
        """Whether documents should wait, for a child or for the subscriber."""
        if not self._has_room():
            return True
        children = {name for each in self.peer.memberships.values() for name in each.children}
        return self.links.is_congested(children)

    def room_changed(self) -> None:
        """Acknowledges documents and continues publishing, if there is room again."""
        if self.is_congested:
            return
        self._room.set()
        waiting, self._unacknowledged = self._unacknowledged, {}
        for link, received in waiting.items():
            link.acknowledge(received)

    # Inputs

    async def _serve_link(self, link: Link) -> None:
        sender = link.peer
        try:
            while True:
                event = await link.receive()
                if isinstance(event, MessageReceived):
                    self._take(sender, link, event)
        finally:
            self._unacknowledged.pop(link, None)

    def _take(self, sender: str, link: Link, event: MessageReceived) -> None:
        message = event.message
        if message.kind == STATUS_REQUEST:
            link.acknowledge(event)
            link.try_send(status_message(self.status()))
            return
        if message.kind != OVERLAY_MESSAGE or sender.startswith(CLIENT_PREFIX):
            self._counters["malformed"] += 1
            link.acknowledge(event)
            return
        try:
            decoded = self._codec.decode(message)
        except OverlayError as problem:
            self._counters["malformed"] += 1
            logger.warning("%s: %s", sender, problem)
            link.acknowledge(event)
            return
        self._counters["received"] += 1
        self._process(sender, decoded)
        if isinstance(decoded, Forward | Replay) and self.is_congested:
            # Acknowledgements are cumulative, so the latest stands for all.
            self._unacknowledged[link] = event
        elif link in self._unacknowledged:
            self._unacknowledged[link] = event
        else:
            link.acknowledge(event)

    def _process(self, sender: str, message: AnyPeerMessage) -> None:
        try:
            outputs = self.peer.receive(sender, message, self._loop.time())
        except PROCESS_EXITS:
            raise
        except BaseException:
            # One message must not end the process; the error is logged and counted. A panic of the
            # native core is no Exception.
            logger.exception("a %s of %s failed", type(message).__name__, sender)
            self._counters["failed"] += 1
            outputs = []
        self._carry_out(outputs)

    def _unreachable(self, name: str) -> None:
        self._counters["unreachable"] += 1
        self._carry_out(self.peer.unreachable(name, self._loop.time()))

    def _ticked(self) -> None:
        self._timer = None
        self._carry_out(self.peer.tick(self._loop.time()))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.links.close_idle()
            self.room_changed()

    # Outputs

    def _carry_out(self, outputs: list[PeerOutput]) -> None:
        for output in outputs:
            match output:
                case Send():
                    self._send(output)
                case Deliver():
                    self._counters["delivered"] += 1
                    self._on_output(output)
                case _:
                    self._count(output)
                    self._on_output(output)
        self._changed.set()
        self._set_timer()

    def _send(self, output: Send) -> None:
        try:
            message = self._codec.encode(output.message)
        except OverlayError:
            logger.exception("a message to %s cannot be encoded", output.peer)
            return
        self._counters["sent"] += self.links.send(output.peer, message)
        self._counters["refused"] += isinstance(output.message, AddRefused | AttachRefusal)

    def _count(self, output: PeerOutput) -> None:
        match output:
            case GapReported():
                self._counters["gaps"] += 1
            case Connected(is_move=True):
                self._counters["moves"] += 1
            case Disconnected():
                self._counters["orphaned"] += 1
            case Left():
                logger.info("left the tree of %s", output.source)
            case _:
                pass

    def _set_timer(self) -> None:
        due = self.peer.next_timer
        if self._timer is not None:
            if due == self._timer_due:
                return
            self._timer.cancel()
            self._timer = None
        if due is not None:
            # A loop may return a handle that knows no time if the time is over already.
            self._timer, self._timer_due = self._loop.call_at(due, self._ticked), due

    def _neighbours(self) -> Collection[str]:
        names: set[str] = set()
        for each in self.peer.memberships.values():
            names.update(each.children)
            if each.parent is not None:
                names.add(each.parent)
        return names

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
