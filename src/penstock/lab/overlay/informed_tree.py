"""A tree built with all documents known in advance: what is within reach of any protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class _Node:
    own: int
    """The documents that match the peer's own subscription, as bits."""

    received: int
    parent: _Node | None = None
    children: list[_Node] = field(default_factory=list)


def informed_overhead(interests: Sequence[int], fan_out: int) -> float:
    """The share of extraneous transfers in a tree that is built greedily.

    The peers that want the most come first. Each goes where it costs its ancestors the fewest
    documents; between equal places, where the parent wants the most of what the peer wants.

    Parameters
    ----------
    interests
        For each peer the documents that match its subscription, as bits.
    fan_out
        Children of a peer, and of the source.

    Examples
    --------
    >>> informed_overhead([0b0001, 0b1111, 0b0011, 0b1100], fan_out=1)  # 3 of 12
    0.25
    """
    everything = -1
    source = _Node(everything, everything)
    nodes: list[_Node] = []
    for own in sorted(interests, key=lambda each: (-each.bit_count(), each)):
        node = _Node(own, own, _cheapest(source, own, fan_out))
        nodes.append(node)
        above = node.parent
        assert above is not None
        above.children.append(node)
        while above is not None and own & ~above.received:
            above.received |= own
            above = above.parent
    received = sum(node.received.bit_count() for node in nodes)
    wanted = sum(node.own.bit_count() for node in nodes)
    return 1 - wanted / received if received else 0.0


def _cheapest(source: _Node, own: int, fan_out: int) -> _Node:
    best: tuple[int, int] | None = None
    chosen = source
    waiting = [(source, 0)]
    while waiting:
        node, cost = waiting.pop()
        if best is not None and cost > best[0]:
            continue
        rank = (cost, (own & ~node.own).bit_count())
        if len(node.children) < fan_out and (best is None or rank < best):
            best, chosen = rank, node
        waiting += [(child, cost + (own & ~child.received).bit_count()) for child in node.children]
    return chosen
