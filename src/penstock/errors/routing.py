"""Errors of routing."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, RoutingError

ERRORS: dict[str, ErrorSpec] = {
    "routing.bound": ErrorSpec(
        RoutingError,
        "the bound of an aggregated set is less than one pattern node",
        "Use 1 or more: `/*`, which every document matches, has one node.",
    ),
    "routing.digest": ErrorSpec(
        RoutingError,
        "a delta does not fit the state of the aggregated set that it is applied to",
        "Request the whole set: a delta was lost, repeated or reordered.",
    ),
}
