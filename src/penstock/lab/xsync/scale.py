"""The scale of the XSync experiments."""

from __future__ import annotations

from dataclasses import dataclass

DEPTH_MAX = 10
"""The paper's greatest depth of an element, and the sum of the lengths of a query and an update."""

EXPANSIONS_MAX = 20_000
"""Expansions of one expression; a client with more is found by every search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The numbers of queries and updates of a run."""

    queries: int
    """The paper: 1,000,000."""
    query_counts: tuple[int, ...]
    """The paper: 1 to 1,000,000."""
    dtd_sizes: tuple[int, ...]
    """The paper: 1 to 100 elements."""
    lengths: tuple[int, ...]
    """The paper: 0 to 10 steps."""
    updates: int
    """Updates for each value; the paper does not say how many."""
    judged_clients: int
    """Clients whose restrictions are compared before and after an operation."""
    judged_operations: int
    histories: int
    """Histories whose conflicts and forwarded statements are counted."""
    merged_statements: tuple[int, ...]
    """Statements in a round whose messages are counted, merged and not."""
    peer_exchanges: int
    """Exchanges of two replicas, with Penstock and with other libraries."""


FULL = Scale(
    queries=1_000_000,
    query_counts=(1, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
    dtd_sizes=(1, 5, 10, 20, 50, 100),
    lengths=tuple(range(DEPTH_MAX + 1)),
    updates=50,
    judged_clients=400,
    judged_operations=60,
    histories=300,
    merged_statements=(1, 10, 100, 1_000),
    peer_exchanges=50,
)
QUICK = Scale(
    queries=20_000,
    query_counts=(1, 10, 100, 1_000, 10_000),
    dtd_sizes=(1, 10, 100),
    lengths=(0, 2, 5, 8, 10),
    updates=20,
    judged_clients=100,
    judged_operations=20,
    histories=20,
    merged_statements=(1, 10, 100),
    peer_exchanges=5,
)
