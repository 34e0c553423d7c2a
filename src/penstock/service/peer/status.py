"""The status of a peer: its trees, its neighbours, its counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from penstock.errors import error
from penstock.overlay.limits import (
    AGENT_SOURCES_MAX,
    DEPTH_MAX,
    FAN_OUT_MAX,
    NAME_BYTES_MAX,
)
from penstock.service.metrics import escape, metric_head
from penstock.service.peer.limits import STATUS_BYTES_MAX, TREES_MAX

_T = TypeVar("_T")

Name = Annotated[str, Meta(min_length=1, max_length=NAME_BYTES_MAX)]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]


class TreeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A peer in one tree."""

    source: Name
    state: str
    parent: Name | None
    path: Annotated[tuple[Name, ...], Meta(max_length=DEPTH_MAX + 1)]
    """Ancestors, the source first."""

    children: Annotated[tuple[Name, ...], Meta(max_length=FAN_OUT_MAX)]
    epoch: Count
    position: Count
    """The last sequence number that is processed."""

    missing: Count
    """Sequence numbers of a gap that is being replayed."""

    overhead: Share
    """Share of extraneous documents among those of the window that the peer received."""

    patterns: Count
    """Patterns of the aggregate filter."""


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A peer."""

    name: Name
    fan_out: Count
    trees: Annotated[tuple[TreeStatus, ...], Meta(max_length=TREES_MAX)]
    counters: dict[str, int]

    def tree(self, source: str) -> TreeStatus | None:
        """The peer in the tree of a source."""
        return next((each for each in self.trees if each.source == source), None)


class AgentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A system agent."""

    name: Name
    sources: Annotated[tuple[Name, ...], Meta(max_length=AGENT_SOURCES_MAX)]
    """Sources that announced themselves recently."""

    counters: dict[str, int]


_COUNTERS: Final = {
    "published": "Documents of this source.",
    "received": "Messages of other peers.",
    "sent": "Messages to other peers.",
    "dropped": "Messages that found no room in a link, or no address.",
    "malformed": "Messages of other peers that were refused.",
    "refused": "Requests of other peers for a place that were refused here, or above this peer.",
    "failed": "Messages that could not be processed because of an error in this program.",
    "delivered": "Documents for the subscriber.",
    "gaps": "Ranges of documents that nobody could replay.",
    "moves": "Changes of the parent without losing it.",
    "orphaned": "Times that a parent was lost.",
    "unreachable": "Times that no connection to a peer could be made.",
    "unheld": "Documents that found no room while an earlier one was missing; they are replayed.",
    "evicted": "Documents and label paths that data-summary trees evicted at their limits.",
    "matched": "Documents that were matched against all patterns, again if patterns were added.",
    "emptied": "Times that the index of all patterns was emptied at its limit.",
}


_AGENT_COUNTERS: Final = {
    "received": "Messages of peers.",
    "dropped": "Answers that found no room in a link, or no address.",
    "malformed": "Messages of peers that were refused.",
    "seeds": "Seed sets that were given to joining peers.",
    "granted": "Requests to move that were granted.",
    "denied": "Requests to move that were denied.",
}


def new_counters() -> dict[str, int]:
    """All counters of a peer, at zero."""
    return dict.fromkeys(_COUNTERS, 0)


def new_agent_counters() -> dict[str, int]:
    """All counters of an agent, at zero."""
    return dict.fromkeys(_AGENT_COUNTERS, 0)


def decode_status(encoded: bytes) -> PeerStatus:
    """The status in an answer.

    Raises
    ------
    OverlayError
        ``overlay.message``: it is malformed or too long.
    """
    return _decoded(encoded, PeerStatus)


def decode_agent_status(encoded: bytes) -> AgentStatus:
    """The status in an agent's answer.

    Raises
    ------
    OverlayError
        ``overlay.message``: it is malformed or too long.
    """
    return _decoded(encoded, AgentStatus)


def _decoded(encoded: bytes, kind: type[_T]) -> _T:
    if len(encoded) > STATUS_BYTES_MAX:
        raise error("overlay.message", f"a status has {len(encoded)} bytes")
    try:
        return msgspec.json.decode(encoded, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
        raise error("overlay.message", f"malformed status: {problem}") from None


def metrics_text(status: PeerStatus) -> str:
    """The status in the text format of Prometheus."""
    return "\n".join(_lines(status)) + "\n"


def agent_metrics_text(status: AgentStatus) -> str:
    """The status of an agent in the text format of Prometheus."""
    lines = [*_counter_lines("agent", _AGENT_COUNTERS, status.counters)]
    lines += metric_head("penstock_agent_sources", "Sources that are known.", "gauge")
    return "\n".join([*lines, f"penstock_agent_sources {len(status.sources)}"]) + "\n"


def _counter_lines(
    who: str, texts: Mapping[str, str], counters: Mapping[str, int]
) -> Iterator[str]:
    for name, text in texts.items():
        metric = f"penstock_{who}_{name}_total"
        yield from metric_head(metric, text, "counter")
        yield f"{metric} {counters[name]}"


def _lines(status: PeerStatus) -> Iterator[str]:
    yield from _counter_lines("peer", _COUNTERS, status.counters)
    for name, text in (
        ("children", "Children in the tree of a source."),
        ("depth", "Ancestors in the tree of a source."),
        ("position", "The last sequence number of a source that is processed."),
        ("missing", "Sequence numbers that are being replayed."),
        ("overhead", "Share of extraneous documents."),
    ):
        metric = f"penstock_peer_{name}"
        yield from metric_head(metric, text, "gauge")
        for tree in status.trees:
            values = {
                "children": len(tree.children),
                "depth": len(tree.path),
                "position": tree.position,
                "missing": tree.missing,
                "overhead": tree.overhead,
            }
            yield f'{metric}{{source="{escape(tree.source)}"}} {values[name]}'
