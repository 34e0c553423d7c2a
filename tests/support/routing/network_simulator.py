"""Runs a tree of routers in virtual time, with faults; everything follows from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.documents import Document
from penstock.routing import (
    AnnotationOptions,
    Deliveries,
    DocumentRefused,
    ForwardDiscarded,
    ForwardedDocument,
    LinkDown,
    LinkReset,
    LinkUp,
    MessageReceived,
    MessageRefused,
    NeighbourDistrusted,
    NeighbourStatus,
    OverflowPolicy,
    Pattern,
    Publish,
    Router,
    RouterInput,
    RouterLimits,
    RouterOutput,
    SendMessage,
    Subscribe,
    Unsubscribe,
)
from support.routing.altered_annotations import AnnouncedSets, damaged_bytes, forged_annotations
from support.routing.delivery_checker import DeliveryChecker
from support.routing.random_traffic import (
    MAPPING_TABLE,
    document_of,
    random_content,
    random_subscription,
    random_tree,
)
from support.routing.simulated_link import SimulatedLink

START = datetime(2026, 1, 1, tzinfo=UTC)
MESSAGES_TO_SETTLE_MAX = 20_000


@dataclass(frozen=True, kw_only=True)
class SimulationOptions:
    """The size of a network, its traffic and its faults. The numbers without a unit are relative
    frequencies of what happens in a step."""

    routers: int = 4
    publishers: int = 3
    aggregate_nodes: int = 1_000
    limits: RouterLimits = field(default_factory=RouterLimits)
    overflow: OverflowPolicy = "discard-oldest"
    annotations: AnnotationOptions = field(default_factory=AnnotationOptions)
    is_authenticated: bool = True
    """Whether links are authenticated. If not, annotations are forged, not only damaged."""

    transmit: int = 30
    acknowledge: int = 6
    subscribe: int = 4
    unsubscribe: int = 2
    publish: int = 8
    publish_again: int = 1
    malformed_share: float = 0.1
    delay_seconds_max: float = 2.0
    altered_share: float = 0.1
    """Share of the annotations that are altered on the way."""

    connect: int = 4
    break_link: int = 2
    reset_session: int = 1
    restart: int = 1
    crash_before_commit: int = 1
    partition: int = 1
    heal: int = 1

    def without_faults(self) -> SimulationOptions:
        return replace(
            self, break_link=0, reset_session=0, restart=0, crash_before_commit=0, partition=0
        )


class NetworkSimulator:
    """A network of routers that is driven by random steps.

    Like a driver, it commits the state and the outputs of an input together, and acknowledges the
    input only then.
    """

    def __init__(self, seed: int, options: SimulationOptions) -> None:
        self.chance = random.Random(seed)
        self.options = options
        self.checker = DeliveryChecker()
        self.now = START
        self.step_number = 0
        self.discarded: set[str] = set()
        """Identities of documents that did not reach a neighbour."""
        self.discard_codes: set[str] = set()
        self.refused: list[MessageRefused] = []
        self.dead: list[DocumentRefused] = []
        self.distrusted: list[NeighbourDistrusted] = []
        self.annotation_bytes = 0
        self.forged_headers = 0
        """Headers that only the missing authentication keeps their receivers from using."""
        self.outdated_headers = 0
        """Headers that only the digest of the set keeps their receivers from using."""
        self._annotations_seen: list[bytes] = []
        self._announced = AnnouncedSets()
        self.links = [SimulatedLink(ends) for ends in random_tree(self.chance, options.routers)]
        self.routers: dict[str, Router] = {
            f"r{number}": Router(
                name=f"r{number}",
                neighbours=[link.other(f"r{number}") for link in self._links_of(f"r{number}")],
                **self._router_options(),
            )
            for number in range(options.routers)
        }
        self._home = {
            f"p{number}": self.chance.choice(sorted(self.routers))
            for number in range(options.publishers)
        }
        """The router of each publisher."""
        self._router_of: dict[str, str] = {}
        """The router of each subscription."""

    # Running

    def run(self, steps: int) -> None:
        """Takes random steps."""
        actions: dict[str, Callable[[], None]] = {
            "transmit": self.transmit,
            "acknowledge": self.acknowledge,
            "subscribe": self.subscribe,
            "unsubscribe": self.unsubscribe,
            "publish": self.publish,
            "publish_again": self.publish_again,
            "connect": self.connect,
            "break_link": self.break_link,
            "reset_session": self.reset_session,
            "restart": self.restart,
            "crash_before_commit": self.crash_before_commit,
            "partition": self.partition,
            "heal": self.heal,
        }
        weights = [getattr(self.options, name) for name in actions]
        for _ in range(steps):
            self._tick()
            self.chance.choices(list(actions.values()), weights)[0]()

    def settle(self) -> None:
        """Repairs all links, and transmits until no message is on its way."""
        self._tick()
        self.heal()
        for link in self.links:
            self._connect(link)
        for _ in range(MESSAGES_TO_SETTLE_MAX):
            self.now += timedelta(seconds=0.01)
            pending = self._pending()
            if not pending:
                break
            self._process(*self.chance.choice(pending))
        else:
            raise AssertionError("the network does not come to rest")
        self._tick()
        self.checker.settle(self.step_number, self.now)

    def check(self) -> None:
        """Checks what holds in a network that has settled."""
        assert self.refused == []
        for link in self.links:
            for name in link.ends:
                assert self.routers[name].status(link.other(name)) is NeighbourStatus.IN_STEP
        for router in self.routers.values():
            assert self._restored(router).state() == router.state()
            counts = router.counters
            assert counts.received == (
                counts.duplicates + counts.matched + counts.unmatched + counts.dead
            )
        self.checker.check_order()
        # What is missing was reported.
        assert {identity for _, identity in self.checker.missing()} <= self.discarded

    @property
    def false_forwards(self) -> int:
        return sum(router.counters.false_forwards for router in self.routers.values())

    def interests(self) -> set[tuple[Pattern, ...]]:
        """The distinct interests that routers know of their neighbours."""
        return {
            self.routers[name].interest_of(link.other(name))
            for link in self.links
            for name in link.ends
        }

    # Traffic

    def subscribe(self) -> None:
        name = self.chance.choice(sorted(self.routers))
        number = len(self.checker.lives)
        subscription = random_subscription(self.chance, number, self.now)
        self._router_of[subscription.id] = name
        self.checker.subscribe(subscription, self.step_number)
        self._handle(name, Subscribe(subscriptions=(subscription,)))

    def unsubscribe(self) -> None:
        if self._router_of:
            self.unsubscribe_one(self.chance.choice(sorted(self._router_of)))

    def unsubscribe_all(self) -> None:
        for id_ in sorted(self._router_of):
            self.unsubscribe_one(id_)

    def unsubscribe_one(self, id_: str) -> None:
        self._handle(self._router_of.pop(id_), Unsubscribe(ids=(id_,)))
        self.checker.unsubscribe(id_, self.step_number)

    def publish(self) -> None:
        publisher = self.chance.choice(sorted(self._home))
        content = random_content(self.chance, self.options.malformed_share)
        number = len(self.checker.published)
        self._publish(document_of(self.chance, publisher, number, content))

    def publish_again(self) -> None:
        """A publisher repeats a document."""
        if self.checker.published:
            identity = self.chance.choice(sorted(self.checker.published))
            document = self.checker.published[identity].document
            self._handle(self._home[document.header.publisher], Publish(document=document))

    def _publish(self, document: Document) -> None:
        self.checker.publish(document, self.step_number, self.now)
        self._handle(self._home[document.header.publisher], Publish(document=document))

    # Links

    def transmit(self) -> None:
        """A message arrives."""
        if pending := self._arrived():
            self._process(*self.chance.choice(pending))

    def acknowledge(self) -> None:
        """An acknowledgement arrives."""
        connected = [link for link in self.links if link.is_connected]
        if connected:
            stream = self.chance.choice(connected).streams
            chosen = stream[self.chance.choice(sorted(stream))]
            chosen.acknowledge(self.chance.randint(0, chosen.processed))

    def acknowledge_all(self) -> None:
        """All acknowledgements arrive."""
        for link in self.links:
            for stream in link.streams.values():
                stream.acknowledge(stream.processed)

    def connect(self) -> None:
        if self.links:
            self._connect(self.chance.choice(self.links))

    def break_link(self) -> None:
        if self.links:
            self._disconnect(self.chance.choice(self.links))

    def reset_session(self) -> None:
        """A session ends: each side sends again what was not acknowledged."""
        if not self.links:
            return
        link = self.chance.choice(self.links)
        self._disconnect(link)
        ended = {name: stream.end() for name, stream in link.streams.items()}
        for name, documents in ended.items():
            reset = LinkReset(neighbour=link.other(name), unacknowledged=documents)
            self._handle(name, reset)

    def partition(self) -> None:
        """Separates some of the routers from the others."""
        separated = {name for name in sorted(self.routers) if self.chance.random() < 0.5}
        for link in self.links:
            if len(separated & set(link.ends)) == 1:
                self._disconnect(link)
                link.is_partitioned = True

    def heal(self) -> None:
        for link in self.links:
            link.is_partitioned = False

    def _connect(self, link: SimulatedLink) -> None:
        if link.is_connected or link.is_partitioned:
            return
        link.is_connected = True
        for name in link.ends:
            up = LinkUp(neighbour=link.other(name), is_authenticated=self.options.is_authenticated)
            self._handle(name, up)

    def _disconnect(self, link: SimulatedLink) -> None:
        if link.is_connected:
            link.is_connected = False
            for name in link.ends:
                self._handle(name, LinkDown(neighbour=link.other(name)))

    # Routers

    def restart(self) -> None:
        self.restart_one(self.chance.choice(sorted(self.routers)))

    def restart_one(self, name: str) -> None:
        """A router continues from its state."""
        self._replace(name, self.routers[name])

    def crash_before_commit(self) -> None:
        """A router handles a message, and is killed before its state and outputs are stored."""
        if pending := self._arrived():
            link, sender = self.chance.choice(pending)
            name = link.other(sender)
            before = self._restored(self.routers[name])
            received = MessageReceived(
                neighbour=sender, message=link.streams[sender].next_message()
            )
            self.routers[name].receive(received, self.now)
            self._replace(name, before)

    def lose_state(self, name: str) -> None:
        """A router starts without a state, and its sessions end. Its subscribers subscribe anew."""
        subscriptions = tuple(self.routers[name].subscriptions.values())
        links = self._links_of(name)
        for link in links:
            self._disconnect(link)
        self.routers[name] = Router(
            name=name,
            neighbours=[link.other(name) for link in links],
            **self._router_options(),
        )
        self._handle(name, Subscribe(subscriptions=subscriptions))
        for link in links:
            other = link.other(name)
            documents = link.streams[other].end()
            link.streams[name].end()
            self._handle(other, LinkReset(neighbour=name, unacknowledged=documents))

    def _replace(self, name: str, router: Router) -> None:
        restored = self._restored(router)
        for link in self._links_of(name):
            if link.is_connected:
                link.is_connected = False
                self._handle(link.other(name), LinkDown(neighbour=name))
        self.routers[name] = restored

    def _restored(self, router: Router) -> Router:
        return Router.restore(router.state(), **self._router_options())

    def _router_options(self) -> dict[str, Any]:
        return {
            "limits": self.options.limits,
            "aggregate_nodes": self.options.aggregate_nodes,
            "overflow": self.options.overflow,
            "mappings": MAPPING_TABLE,
            "annotations": self.options.annotations,
            "chance": self.chance,
        }

    def _links_of(self, name: str) -> list[SimulatedLink]:
        return [link for link in self.links if name in link.ends]

    def _link(self, one: str, two: str) -> SimulatedLink:
        return next(link for link in self.links if set(link.ends) == {one, two})

    def _tick(self) -> None:
        self.step_number += 1
        self.now += timedelta(seconds=self.chance.random())

    def _pending(self) -> list[tuple[SimulatedLink, str]]:
        return [
            (link, sender)
            for link in self.links
            if link.is_connected
            for sender, stream in link.streams.items()
            if stream.next_arrival() is not None
        ]

    def _arrived(self) -> list[tuple[SimulatedLink, str]]:
        now = self.now.timestamp()
        return [
            (link, sender)
            for link, sender in self._pending()
            if (link.streams[sender].next_arrival() or 0) <= now
        ]

    def _process(self, link: SimulatedLink, sender: str) -> None:
        stream = link.streams[sender]
        message = stream.next_message()
        if isinstance(message, ForwardedDocument):
            message = self._altered(message, sender, link.other(sender))
        stream.processed += 1
        outputs = self._handle(
            link.other(sender), MessageReceived(neighbour=sender, message=message)
        )
        for output in outputs:
            if isinstance(output, SendMessage) and isinstance(output.message, ForwardedDocument):
                assert output.neighbour != sender, "a document returned over its link"

    def _altered(self, message: ForwardedDocument, sender: str, receiver: str) -> ForwardedDocument:
        """Forges, damages or replaces the annotations of some documents."""
        self.annotation_bytes += len(message.annotations)
        if message.annotations:
            self._annotations_seen.append(message.annotations)
        if self.chance.random() >= self.options.altered_share:
            return message
        # The receiver may have restarted since its last input.
        self._announced.observe(self.routers[receiver])
        if not self.options.is_authenticated:
            self.forged_headers += 1
            current = self._announced.current(receiver, sender)
            return replace(
                message, annotations=forged_annotations(self.chance, message.document, current)
            )
        outdated = self._announced.outdated(receiver, sender)
        if outdated and self.chance.random() < 0.5:
            self.outdated_headers += 1
            earlier = self.chance.choice(outdated)
            return replace(
                message, annotations=forged_annotations(self.chance, message.document, earlier)
            )
        if not self._annotations_seen:
            return message
        stale = self.chance.choice(self._annotations_seen)
        damaged = damaged_bytes(self.chance, message.annotations)
        return replace(message, annotations=self.chance.choice((stale, damaged)))

    def _handle(self, name: str, input_: RouterInput) -> tuple[RouterOutput, ...]:
        outputs = self.routers[name].receive(input_, self.now)
        self._announced.observe(self.routers[name])
        for output in outputs:
            match output:
                case SendMessage(neighbour=neighbour, message=message):
                    link = self._link(name, neighbour)
                    assert link.is_connected, "a message was sent over a broken link"
                    delay = self.chance.random() * self.options.delay_seconds_max
                    link.streams[name].send(message, self.now.timestamp() + delay)
                case Deliveries():
                    for delivery in output.each():
                        assert self._router_of[delivery.subscription] == name
                        self.checker.deliver(delivery, self.now)
                case ForwardDiscarded(document=document, code=code):
                    self.discarded.add(document.identity)
                    self.discard_codes.add(code)
                case NeighbourDistrusted():
                    self.distrusted.append(output)
                case MessageRefused():
                    self.refused.append(output)
                case DocumentRefused():
                    self.dead.append(output)
        return outputs
