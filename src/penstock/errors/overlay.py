"""Errors of the overlay."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, OverlayError

ERRORS: dict[str, ErrorSpec] = {
    "overlay.option": ErrorSpec(
        OverlayError,
        "a limit or setting of a peer, an agent or a simulation is invalid",
        "Limits are positive, times are positive seconds, and shares lie between 0 and 1.",
    ),
    "overlay.source": ErrorSpec(
        OverlayError,
        "the peer is not in the tree of that source, or is in it already",
        "Join the tree first; leave it before you join it again.",
    ),
    "overlay.message": ErrorSpec(
        OverlayError,
        "a message between peers is malformed",
        "Check the version of the sending peer.",
    ),
    "overlay.peer-name": ErrorSpec(
        OverlayError,
        "the name of a peer does not contain its address",
        "A name is a label, `@` and an address: `ada@192.0.2.1:7000`.",
    ),
    "overlay.insecure": ErrorSpec(
        OverlayError,
        "a peer without a token can use addresses of its own machine only",
        "Give all peers the same token file; `--insecure` is for trials on one machine.",
    ),
    "overlay.token-file": ErrorSpec(
        OverlayError,
        "the token file of a group is malformed",
        "It contains at least 32 hexadecimal digits, for example from `openssl rand -hex 32`.",
    ),
    "overlay.listen": ErrorSpec(
        OverlayError,
        "the peer cannot listen on its address",
        "Is another process using the port? Port 0 takes a free one.",
    ),
    "overlay.unreachable": ErrorSpec(
        OverlayError,
        "a peer does not answer",
        "Check its address, and that both have the same token.",
    ),
    "overlay.document": ErrorSpec(
        OverlayError,
        "a document is too long for a source",
        "Split it; the limit is PUBLISHED_DOCUMENT_BYTES_MAX.",
    ),
}
