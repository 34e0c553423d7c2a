"""A simulated network of routers: who sends to whom, and when a document has reached everyone.

A router takes a document in whole, matches it, and sends it on. All links have the same bandwidth.
Links carry nothing else and add no delay of their own; the paper names none either.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

LINEAR_ROUTERS = 4
"""In a row, as many as the paper's real network has."""

TREE_LEVELS = 4
"""Of a binary tree, so that it has 15 routers."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Routers by number; the first is the publisher's."""

    name: str
    parents: tuple[int | None, ...]
    """From whom each gets its documents; ``None`` is the publisher."""
    with_subscribers: tuple[int, ...]


def linear(*, leaves_only: bool = False) -> Topology:
    """Routers in a row, all of them with subscribers or only the last."""
    parents = (None, *range(LINEAR_ROUTERS - 1))
    if leaves_only:
        return Topology("linear, leaf only", parents, (LINEAR_ROUTERS - 1,))
    return Topology("linear", parents, tuple(range(LINEAR_ROUTERS)))


def tree() -> Topology:
    """A complete binary tree, with subscribers at every router."""
    count = 2**TREE_LEVELS - 1
    parents = (None, *((number - 1) // 2 for number in range(1, count)))
    return Topology("tree", parents, tuple(range(count)))


@dataclass(frozen=True, slots=True)
class Response:
    """How long a document takes to its subscribers on average, in seconds."""

    querying: float
    transmission: float

    @property
    def total(self) -> float:
        """Both."""
        return self.querying + self.transmission


def respond(
    topology: Topology,
    *,
    size_bytes: float,
    bandwidth: float,
    querying: float,
    beforehand: float = 0.0,
) -> Response:
    """Send one document through the network.

    Parameters
    ----------
    size_bytes
        All that travels.
    bandwidth
        Bits a second.
    querying
        Seconds that each router takes for it.
    beforehand
        Seconds of work before it is sent at all; they count as querying.
    """
    hop = size_bytes * 8 / bandwidth
    reached: list[Response] = []
    for parent in topology.parents:
        before = Response(beforehand, 0.0) if parent is None else reached[parent]
        reached.append(Response(before.querying + querying, before.transmission + hop))
    there = [reached[number] for number in topology.with_subscribers]
    return Response(
        mean(each.querying for each in there), mean(each.transmission for each in there)
    )
