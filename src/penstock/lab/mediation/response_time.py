"""Figures 5(a), (b) and (c): response time, the sum of querying and transmission."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial
from statistics import mean

from penstock.lab.bench.report import Progress
from penstock.lab.bench.timing import once
from penstock.lab.catalogues.rewritten_documents import RewrittenDocument
from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.mediation.querying_time import (
    WAYS,
    QueryingTime,
    draw,
    measure,
    subscription_matcher,
)
from penstock.lab.mediation.scale import MEGABIT, Scale
from penstock.lab.mediation.simulated_network import Response, Topology, linear, respond, tree
from penstock.lab.mediation.socket_routers import Handle, respond_over_sockets
from penstock.mediation import Mapping, MappingCache, MediatedMatcher, Way

PARTS = ("querying ms", "transmission ms", "T ms")
COLUMNS = (*PARTS, "NDDR under it %")

METHOD = (
    "Querying is CPU time on documents of all catalogues. Transmission is simulated: store and"
    " forward, with the mapping in the header, or for SDR the original and the global document.",
    "The querying time of SDR includes rewriting, once, at the mediator.",
)


def transmitted_bytes(
    sent: Sequence[RewrittenDocument], way: Way, *, with_mapping: bool = True
) -> float:
    """Mean bytes transmitted per document."""
    if way == "sdr":
        return mean(len(each.document) + len(each.rewritten) for each in sent)
    header = mean(len(each.mapping.to_text().encode()) for each in sent) if with_mapping else 0
    return header + mean(len(each.document) for each in sent)


def responses(
    sent: Sequence[RewrittenDocument], querying: QueryingTime, topology: Topology, bandwidth: float
) -> dict[Way, Response]:
    """The response time of each strategy."""
    return {
        way: respond(
            topology,
            size_bytes=transmitted_bytes(sent, way),
            bandwidth=bandwidth,
            querying=querying.at_router(way),
            beforehand=querying.beforehand(way),
        )
        for way in WAYS
    }


def table_rows(where: tuple[Cell, ...], found: dict[Way, Response]) -> list[tuple[Cell, ...]]:
    """One row per strategy: the two parts, and how much faster NDDR is."""
    nddr = found["nddr"].total
    return [
        (
            *where,
            way.upper(),
            each.querying * 1e3,
            each.transmission * 1e3,
            each.total * 1e3,
            None if way == "nddr" else 100 * (1 - nddr / each.total),
        )
        for way, each in found.items()
    ]


def by_bandwidth(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Figure 5(a)."""
    progress("lab mediation: bandwidth")
    sent = draw(scale.catalogues, scale.size)
    querying = measure(sent, scale.subscriptions[0], scale.repeats)
    rows: list[tuple[Cell, ...]] = []
    for bandwidth in scale.bandwidths:
        found = responses(sent, querying, linear(), bandwidth)
        rows += table_rows((bandwidth / MEGABIT,), found)
    return ResultTable(
        "fig5a",
        f"Fig. 5(a): response time by bandwidth, documents of {scale.size // 1000} KB",
        ("Mbit/s", "way", *COLUMNS),
        tuple(rows),
        (*METHOD, "The paper: NDDR under SDR by 12% at 100 Mbit/s, by 41% at 10."),
        Chart("way", "Mbit/s", PARTS, "ms", one_scale=True),
    )


def by_size(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Figure 5(b)."""
    rows: list[tuple[Cell, ...]] = []
    for size in scale.sizes:
        progress(f"lab mediation: documents of {size:,} bytes")
        sent = draw(scale.catalogues, size)
        querying = measure(sent, scale.subscriptions[0], scale.repeats)
        found = responses(sent, querying, linear(), scale.bandwidth)
        rows += table_rows((size / 1000,), found)
    return ResultTable(
        "fig5b",
        f"Fig. 5(b): response time by size of document, {scale.bandwidth // MEGABIT} Mbit/s",
        ("KB", "way", *COLUMNS),
        tuple(rows),
        (
            "The paper: NDDR under SDR by 20% at 10 KB, 25% at 40 KB, 28% at 1 MB, where it is"
            " under IDDR by 10%.",
        ),
        Chart("way", "KB", PARTS, "ms", logarithmic=True, one_scale=True),
    )


def by_subscriptions(scale: Scale, progress: Progress) -> ResultTable:
    """Vary the subscriptions per router, which the paper describes without a figure."""
    sent = draw(scale.catalogues, scale.size)
    rows: list[tuple[Cell, ...]] = []
    for count in scale.subscriptions:
        progress(f"lab mediation: {count:,} subscriptions per router")
        querying = measure(sent, count, scale.repeats)
        rows += table_rows((count,), responses(sent, querying, linear(), scale.bandwidth))
    return ResultTable(
        "subscriptions",
        "In addition to Fig. 5: response time by subscriptions per router",
        ("subscriptions", "way", *COLUMNS),
        tuple(rows),
        ("The paper: SDR and NDDR grow alike; the querying time of IDDR grows faster.",),
        Chart("way", "subscriptions", PARTS, "ms", one_scale=True),
    )


def by_topology(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Figure 5(c); the last rows use real sockets."""
    sent = draw(scale.catalogues, scale.size)
    progress("lab mediation: topologies")
    querying = measure(sent, scale.subscriptions[0], scale.repeats)
    rows: list[tuple[Cell, ...]] = []
    for topology in (linear(), linear(leaves_only=True), tree()):
        rows += table_rows((topology.name,), responses(sent, querying, topology, scale.bandwidth))
    progress("lab mediation: real sockets")
    real = {way: _over_sockets(sent, way, scale) for way in WAYS}
    rows += table_rows(("linear, real sockets",), real)
    return ResultTable(
        "fig5c",
        f"Fig. 5(c): response time by topology, {scale.bandwidth // MEGABIT} Mbit/s",
        ("topology", "way", *COLUMNS),
        tuple(rows),
        (
            "Real sockets: four routers as threads on loopback; senders limit the bandwidth. The"
            " time of SDR does not include rewriting.",
            "The paper: the margin is larger with leaves only and on the tree, and the real network"
            " has the same trend.",
        ),
    )


def _over_sockets(sent: Sequence[RewrittenDocument], way: Way, scale: Scale) -> Response:
    selected = sent[: scale.socket_documents]
    handle = _handler(way, scale.subscriptions[0])
    messages = [_message(each, way) for each in selected]
    for message in messages:
        handle(message)
    return respond_over_sockets(messages, handle, scale.bandwidth)


_PARTS = struct.Struct("!I")
"""The length of the first of the two parts of a message."""


def _message(sent: RewrittenDocument, way: Way) -> bytes:
    first = sent.rewritten if way == "sdr" else sent.mapping.to_text().encode()
    return _PARTS.pack(len(first)) + first + sent.document


def _handler(way: Way, count: int) -> Handle:
    """A message handler that matches, and parses each mapping once."""
    matcher = subscription_matcher(count)
    mediated, cache = MediatedMatcher(matcher, way=way), MappingCache()

    def handle(message: bytes) -> object:
        (length,) = _PARTS.unpack_from(message)
        first, document = message[_PARTS.size :][:length], message[_PARTS.size + length :]
        if way == "sdr":
            return matcher.match(first)
        return mediated.match(document, cache.read(first.decode()).mapping)

    return handle


def _read_all(texts: Sequence[str]) -> None:
    for text in texts:
        Mapping.from_text(text)


def by_header(scale: Scale, progress: Progress) -> ResultTable:
    """Compare a mapping in the header of every document with mappings installed beforehand."""
    rows: list[tuple[Cell, ...]] = []
    for size in scale.sizes:
        progress(f"lab mediation: mappings in headers, {size:,} bytes")
        sent = draw(scale.catalogues, size)
        querying = measure(sent, scale.subscriptions[0], scale.repeats, ("nddr",))
        found = [
            respond(
                linear(),
                size_bytes=transmitted_bytes(sent, "nddr", with_mapping=with_mapping),
                bandwidth=scale.bandwidth,
                querying=querying.at_router("nddr"),
            ).total
            for with_mapping in (False, True)
        ]
        texts = [each.mapping.to_text() for each in sent]
        reading = once(partial(_read_all, texts))
        rows.append(
            (
                size / 1000,
                mean(len(text.encode()) for text in texts),
                found[0] * 1e3,
                found[1] * 1e3,
                100 * (found[1] / found[0] - 1),
                reading / len(texts) * 1e3,
            )
        )
    return ResultTable(
        "header",
        "Response time of NDDR: mapping installed beforehand or in the header",
        ("KB", "mapping bytes", "installed ms", "header ms", "more %", "reading a mapping ms"),
        tuple(rows),
        (
            "A router parses a mapping once and caches it by its digest.",
            "The paper: in the header it does not impact performance.",
        ),
    )
