"""The limits of the overlay."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from penstock.errors import error

FAN_OUT_MAX: Final[int] = 1_024
"""The largest fan-out that a peer can be given: children in all its trees together."""

DEPTH_MAX: Final[int] = 1_024
"""Peers on the path of an attach attempt. Longer ones are refused, so a faulty peer cannot make a
request travel for ever."""

ADD_HOPS_MAX: Final[int] = 2_048
"""Peers that forward an ``Add``, before it is refused."""

EXCLUDED_PEERS_MAX: Final[int] = 256
"""Subtrees that an ``Add`` found full, before it is refused. The joining peer backs off and tries
again."""

EPOCH_MAX: Final[int] = 1 << 62
"""The largest epoch that a peer can report to a source, which takes a larger one."""

SEEDS_MAX: Final[int] = 16
"""Peers that a joining peer asks at once."""

REJOIN_ANCESTORS_MAX: Final[int] = 3
"""Former ancestors that an orphan asks besides its seeds, the grandparent first."""

CANDIDATES_MAX: Final[int] = 3
"""Places that a moving peer tries before it stays where it is."""

PRIMED_DOCUMENTS_MIN: Final[int] = 20
"""Sequence numbers that two bitmaps must have in common to be compared. With fewer, overlap is
estimated from the structure of the queries."""

COVERAGE_INTERVALS_MAX: Final[int] = 16
"""Intervals of sequence numbers for which a peer remembers what it received completely. Replays of
older ranges are left to its ancestors."""

REPLAY_DOCUMENTS_MAX: Final[int] = 64
"""Documents in one replay. The receiver requests the rest of its gap."""

REPLAY_BYTES_MAX: Final[int] = 4 << 20
"""Bytes of documents in one replay; a longer document is alone."""

NAME_BYTES_MAX: Final[int] = 256
"""Bytes of a peer's name."""

AGENT_PEERS_MAX: Final[int] = 100_000
"""Peers whose last grant an agent remembers; past it, the oldest is forgotten."""

AGENT_SOURCES_MAX: Final[int] = 1_000
"""Sources that an agent knows; past it, the one that was silent for the longest is forgotten."""

AGENT_REQUESTS_MAX: Final[int] = 10_000
"""Requests that wait for an agent's next round; further ones are denied."""

AGENT_ROUND_SECONDS_MAX: Final[int] = 600
"""Length of an agent's round, and how long a peer waits for its end at most."""

SUMMARY_VERTICES_MAX: Final[int] = 20_000
"""Vertices of a data-summary tree. Past it, the least recently used leaf is evicted."""

SUMMARY_DOCUMENT_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of documents that a data-summary tree keeps until a look-up needs them, and for keywords.
Past it, the oldest are forgotten, as if the window were shorter."""

SUMMARY_SIGNATURES_MAX: Final[int] = 256
"""Distinct instances that a vertex of a data-summary tree tells apart, the most recently used.
Documents of the others are found by every look-up that reaches the vertex."""

SUMMARY_VALUE_CHARACTERS_MAX: Final[int] = 64
"""Characters of a value that a data-summary tree stores; a longer one equals every literal that
begins like it."""

INTEREST_PATTERNS_MAX: Final[int] = 100_000
"""Patterns of an interest that is received."""

INTEREST_NODES_MAX: Final[int] = 4_096
"""Pattern nodes of an aggregate filter. Past it, patterns are merged, at the cost of extraneous
documents."""

COMPARED_PATTERNS_MAX: Final[int] = 1_024
"""Distinct patterns whose containment in each other a process remembers. Filters with others are
aggregated as routers do it."""

MATCHED_DOCUMENTS_MAX: Final[int] = 1_024
"""Documents whose matches a pattern matcher remembers. It does not keep the documents. Past it, the
oldest matches are forgotten; a document is matched again if it is asked for."""

MATCHED_PATTERNS_MAX: Final[int] = 200_000
"""Distinct patterns in the index of a pattern matcher. Past it, the index is emptied, and filled
again with those in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLimits:
    """Upper bounds of a peer, for each of its trees.

    >>> PeerLimits(held_documents=10).held_documents
    10
    """

    window_documents: int = 400
    """Sequence numbers over which statistics are kept: W."""

    buffer_documents: int = 2_000
    """Documents that are kept for replays, the latest."""

    buffer_bytes: int = 64 << 20
    """Bytes of documents that are kept for replays."""

    held_documents: int = 1_000
    """Documents that are held back while an earlier one is missing. Further ones are dropped, and
    requested again once the gap is filled."""

    held_bytes: int = 64 << 20
    """Bytes of documents that are held back, likewise."""

    path_attempts: int = 256
    """Attach attempts of others that a peer relays at once. Further ones are refused."""

    search_probes: int = 256
    """Peers that a search for a better parent asks."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if type(value) is not int or value < 1:
                raise error(
                    "overlay.option", f"the limit {each.name} must be a positive integer: {value!r}"
                )
