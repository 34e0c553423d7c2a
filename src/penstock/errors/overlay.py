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
}
