"""A network of router cores in one process, whose routing time is measured hop by hop.

Routing time is CPU time from a received frame to the queued frames: decoding the header of a
message, the router core, visiting every recipient of its deliveries, and encoding the headers of
the messages it sends. Nothing is transported. What reading the clock takes is subtracted: as a
system call, it is several percent of a hop.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import thread_time_ns

from penstock.documents import Document
from penstock.links import Message, document_from_message, document_to_message
from penstock.routing import (
    AnnotationOptions,
    AnnotationsChanged,
    Deliveries,
    ForwardedDocument,
    LinkUp,
    LocalSubscription,
    MessageReceived,
    Publish,
    Router,
    RouterCounters,
    RouterInput,
    SendMessage,
    Subscribe,
)
from penstock.routing.limits import AGGREGATE_NODES_MAX
from penstock.routing.router_messages import RouterMessage, forwarded_document

NOW = datetime(2026, 1, 1, tzinfo=UTC)

CLOCK_READINGS = 1_000
"""Pairs of readings of the clock, of which the shortest is what reading it takes."""

Links = Sequence[tuple[str, str]]


def chain(length: int) -> Links:
    """The links of routers in a row: ``r0``, ``r1`` and so on."""
    return [(f"r{number}", f"r{number + 1}") for number in range(length - 1)]


def binary_tree(depth: int) -> Links:
    """The links of a complete binary tree of routers; ``r0`` is the root."""
    count = 2**depth - 1
    return [(f"r{(number - 1) // 2}", f"r{number}") for number in range(1, count)]


def _clock_nanoseconds() -> int:
    """What reading the clock adds to a measured time, at least."""
    return min(-(thread_time_ns() - thread_time_ns()) for _ in range(CLOCK_READINGS))


@dataclass(slots=True)
class HopTotals:
    """Sums over the documents that routers at one distance from the publisher received."""

    documents: int = 0
    nanoseconds: int = 0
    content_bytes: int = 0
    annotation_bytes: int = 0
    """Of the documents as they arrived."""


@dataclass(slots=True)
class Measurement:
    """Sums over published documents."""

    hops: list[HopTotals] = field(default_factory=list)
    """By distance from the publisher."""

    deliveries: int = 0
    wanted: Counter[str] = field(default_factory=Counter)
    """Documents that each router delivered to its own subscribers."""

    @property
    def documents(self) -> int:
        """Published documents."""
        return self.at(0).documents

    @property
    def forwards(self) -> int:
        """Documents that crossed a link, at all distances."""
        return sum(hop.documents for hop in self.hops[1:])

    @property
    def nanoseconds(self) -> int:
        """Routing time of all documents at all routers."""
        return sum(hop.nanoseconds for hop in self.hops)

    def at(self, distance: int) -> HopTotals:
        """The totals of a distance."""
        while len(self.hops) <= distance:
            self.hops.append(HopTotals())
        return self.hops[distance]


class MeasuredNetwork:
    """Routers that exchange messages in memory.

    Parameters
    ----------
    links
        Pairs of names; they form a tree.
    aggregate_nodes
        The bound of announced interests.

    Examples
    --------
    >>> from penstock.documents import Header
    >>> network = MeasuredNetwork(chain(3))
    >>> ada = LocalSubscription(id="s1", subscriber="ada", query="//flash")
    >>> network.subscribe({"r2": [ada]})
    >>> document = Document(b"<news><flash/></news>", Header(publisher="wire", id="7"))
    >>> measured = network.publish("r0", [document])
    >>> measured.deliveries, [hop.documents for hop in measured.hops]
    (1, [1, 1, 1])
    """

    def __init__(
        self,
        links: Links,
        *,
        aggregate_nodes: int = AGGREGATE_NODES_MAX,
    ) -> None:
        names = dict.fromkeys(name for ends in links for name in ends)
        self.routers = {
            name: Router(
                name=name,
                neighbours=[
                    one if two == name else two for one, two in links if name in (one, two)
                ],
                aggregate_nodes=aggregate_nodes,
                cpu_time=thread_time_ns,
            )
            for name in names
        }
        self._links = links
        self._clock_nanoseconds = _clock_nanoseconds()

    def subscribe(self, subscriptions: Mapping[str, Iterable[LocalSubscription]]) -> None:
        """Add subscriptions by router, connect all routers, and let them exchange interests."""
        for name, of_router in subscriptions.items():
            self._settle([(name, Subscribe(subscriptions=tuple(of_router)))])
        # From the leaves to the root and back, so that each interest is complete when it is sent.
        for one, two in reversed(self._links):
            up = [
                (one, LinkUp(neighbour=two, is_authenticated=True)),
                (two, LinkUp(neighbour=one, is_authenticated=True)),
            ]
            self._settle(up)

    def _settle(self, inputs: Iterable[tuple[str, RouterInput]]) -> None:
        waiting = deque(inputs)
        while waiting:
            receiver, next_input = waiting.popleft()
            for output in self.routers[receiver].receive(next_input, NOW):
                if isinstance(output, SendMessage):
                    received = MessageReceived(neighbour=receiver, message=output.message)
                    waiting.append((output.neighbour, received))

    def use(self, options: AnnotationOptions) -> None:
        """Use other annotations from now on, at all routers."""
        self._settle((name, AnnotationsChanged(options=options)) for name in self.routers)

    def publish(self, name: str, documents: Iterable[Document]) -> Measurement:
        """Publish documents one after the other, each to all routers that it reaches."""
        measured = Measurement()
        for document in documents:
            self._publish(name, document, measured)
        return measured

    def _publish(self, name: str, document: Document, measured: Measurement) -> None:
        frames: deque[tuple[int, str, str | None, Message, str]] = deque()
        frames.append((0, name, None, document_to_message(document), ""))
        while frames:
            distance, receiver, sender, frame, mapping = frames.popleft()
            router = self.routers[receiver]
            control: list[tuple[str, RouterMessage]] = []
            begin = thread_time_ns()
            received, annotations = document_from_message(frame)
            input_: RouterInput
            if sender is None:
                input_ = Publish(document=received)
            else:
                input_ = MessageReceived(sender, forwarded_document(received, mapping, annotations))
            subscribers: list[str] = []
            for output in router.receive(input_, NOW):
                if isinstance(output, Deliveries):
                    subscribers += [each.subscriber for each in output.recipients]
                    continue
                assert isinstance(output, SendMessage), output
                sent = output.message
                if isinstance(sent, ForwardedDocument):
                    encoded = document_to_message(sent.document, annotations=sent.annotations)
                    frames.append((distance + 1, output.neighbour, receiver, encoded, sent.mapping))
                else:
                    control.append((output.neighbour, sent))
            elapsed = thread_time_ns() - begin - self._clock_nanoseconds
            hop = measured.at(distance)
            hop.documents += 1
            hop.nanoseconds += elapsed
            hop.content_bytes += len(document.content)
            hop.annotation_bytes += len(annotations)
            measured.deliveries += len(subscribers)
            measured.wanted[receiver] += bool(subscribers)
            for neighbour, report in control:
                self._settle([(neighbour, MessageReceived(neighbour=receiver, message=report))])

    def counters(self) -> dict[str, RouterCounters]:
        """The counters of all routers."""
        return {name: router.counters for name, router in self.routers.items()}
