"""Metrics of a router in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.service.metrics import escape, metric_head

_COUNTERS: Final = {
    "received": "Documents from publishers and neighbours.",
    "duplicates": "Documents that arrived before, and were ignored.",
    "matched": "Documents that match a local subscription or a neighbour's interest.",
    "unmatched": "Well-formed documents that match nothing.",
    "dead": "Documents that were refused.",
    "false_forwards": "Unmatched documents that a neighbour had forwarded.",
    "deliveries": "Deliveries to subscribers.",
    "forwards": "Documents sent or queued for a neighbour.",
    "discarded": "Forwards that were discarded because too many waited.",
    "not_read": "Documents that annotations decided without reading them.",
    "read_in_part": "Documents of which annotations decided the rest.",
    "annotation_bytes": "Bytes of annotations in forwards.",
    "ignored_annotations": "Annotations of neighbours that were not used.",
    "verified_annotations": "Documents that were read to verify annotations.",
    "set_aside": "Subscriptions that were set aside, once for each document.",
    "refused_messages": "Messages of neighbours that were refused.",
    "forgotten_publishers": "Publishers whose duplicates are not recognised any more.",
}

_NEIGHBOUR_GAUGES: Final = {
    "connected": "Whether the link is established.",
    "authenticated": "Whether the neighbour has proved who it is.",
    "distrusted": "Whether the neighbour is cut off because its annotations were wrong.",
    "patterns": "Patterns of the neighbour's interest.",
    "waiting": "Documents that wait for the link.",
    "unacknowledged": "Messages that the neighbour has not acknowledged.",
}

_LINK_COUNTERS: Final = (
    "connections",
    "bytes_sent",
    "bytes_received",
    "messages_sent",
    "messages_received",
    "retransmissions",
    "resets",
)


def metrics_text(status: Mapping[str, Any]) -> str:
    """The status of a router in the text format of Prometheus."""
    return "\n".join(_lines(status)) + "\n"


def _lines(status: Mapping[str, Any]) -> Iterator[str]:
    for name, text in _COUNTERS.items():
        metric = f"penstock_router_{name}_total"
        yield from metric_head(metric, text, "counter")
        yield f"{metric} {status['counters'][name]}"
    for metric, text, kind, value in (
        ("subscriptions", "Subscriptions at this router.", "gauge", status["subscriptions"]),
        (
            "deliveries_discarded_total",
            "Deliveries that were discarded because too many waited for a subscriber.",
            "counter",
            status["deliveries_discarded"],
        ),
        (
            "set_aside_subscriptions",
            "Subscriptions that were set aside for any document.",
            "gauge",
            status["set_aside_subscriptions"],
        ),
        ("commits_total", "Transactions of the store.", "counter", status["commits"]),
    ):
        yield from metric_head(f"penstock_router_{metric}", text, kind)
        yield f"penstock_router_{metric} {value}"
    neighbours = status["neighbours"]
    for name, text in _NEIGHBOUR_GAUGES.items():
        metric = f"penstock_router_neighbour_{name}"
        yield from metric_head(metric, text, "gauge")
        for neighbour, values in neighbours.items():
            yield f'{metric}{{neighbour="{escape(neighbour)}"}} {int(values[name])}'
    for name in _LINK_COUNTERS:
        metric = f"penstock_router_link_{name}_total"
        yield from metric_head(
            metric, f"{name.replace('_', ' ').capitalize()} of the link.", "counter"
        )
        for neighbour, values in neighbours.items():
            if values["link"]:
                label = f'{{neighbour="{escape(neighbour)}"}}'
                yield f"{metric}{label} {values['link'][name]}"
    metric = "penstock_router_subscriber_waiting"
    yield from metric_head(metric, "Deliveries that a subscriber has not acknowledged.", "gauge")
    for subscriber, waiting in status["subscribers"].items():
        yield f'{metric}{{subscriber="{escape(subscriber)}"}} {waiting}'
    metric = "penstock_router_refused_connections_total"
    yield from metric_head(metric, "Connections that were refused.", "counter")
    for code, count in status["refused_connections"].items():
        yield f'{metric}{{code="{escape(code)}"}} {count}'
