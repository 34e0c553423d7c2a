"""Metrics of a synchronisation server in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from penstock.service.metrics import escape, metric_head
from penstock.service.sync.document_service import DocumentService

_COUNTERS: Final[Mapping[str, tuple[str, Callable[[DocumentService], int]]]] = {
    "rounds": ("Rounds that were stored.", lambda service: service.counters.rounds),
    "requests": (
        "Requests of clients that a round has answered or refused.",
        lambda service: service.counters.requests,
    ),
    "refused_requests": (
        "Requests that a round has refused.",
        lambda service: service.counters.refused_requests,
    ),
    "pushed_messages": (
        "Messages to connected clients that did not request them.",
        lambda service: service.counters.pushed_messages,
    ),
    "lost_streams": (
        "Streams that ended because their clients were too slow.",
        lambda service: service.counters.lost_streams,
    ),
}

_GAUGES: Final[Mapping[str, tuple[str, Callable[[DocumentService], int]]]] = {
    "version": ("Version of the document.", lambda service: service.status.version),
    "nodes": (
        "Nodes of the document, with deleted ones that are kept.",
        lambda service: service.status.nodes,
    ),
    "log_entries": (
        "Entries of the log that some client has not acknowledged, or that are kept anyway.",
        lambda service: service.status.log_entries,
    ),
    "clients": ("Clones that the server knows.", lambda service: service.status.clients),
    "streams": ("Clients that are connected.", lambda service: service.stream_count),
    "waiting_requests": (
        "Requests that wait for the next round.",
        lambda service: service.waiting_count,
    ),
}


def metrics_text(services: Mapping[str, DocumentService]) -> str:
    """The metrics of the documents of a server, by name."""
    return "\n".join(_lines(services)) + "\n"


def _lines(services: Mapping[str, DocumentService]) -> Iterator[str]:
    for found, kind, ending in ((_COUNTERS, "counter", "_total"), (_GAUGES, "gauge", "")):
        for name, (text, value) in found.items():
            metric = f"penstock_sync_{name}{ending}"
            yield from metric_head(metric, text, kind)
            for document, service in sorted(services.items()):
                yield f'{metric}{{document="{escape(document)}"}} {value(service)}'
