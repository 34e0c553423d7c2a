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
    "routing.option": ErrorSpec(
        RoutingError,
        "a limit or setting of a router is invalid",
        "Limits are positive; names of neighbours are distinct and differ from the router's.",
    ),
    "routing.neighbour": ErrorSpec(
        RoutingError,
        "the router has no neighbour of that name",
        "Name one of the neighbours that the router was created with.",
    ),
    "routing.link": ErrorSpec(
        RoutingError,
        "a message was received from a neighbour whose link is down",
        "Report that the link is up before its messages.",
    ),
    "routing.message": ErrorSpec(
        RoutingError,
        "a message between routers is malformed",
        "Check the version of the sending router.",
    ),
    "routing.pattern": ErrorSpec(
        RoutingError,
        "a pattern of a neighbour is invalid",
        "Check the version of the sending router; until it sends valid patterns, it receives all"
        " documents.",
    ),
    "routing.too-many-patterns": ErrorSpec(
        RoutingError,
        "a neighbour's interest has more patterns than the limit",
        "Lower the bound of its aggregated sets, or raise `neighbour_patterns`; until then it"
        " receives all documents.",
    ),
    "routing.queue-full": ErrorSpec(
        RoutingError,
        "too many documents wait for the link to a neighbour",
        "Repair the link, or raise `waiting_documents` or `waiting_bytes`.",
    ),
    "routing.annotations": ErrorSpec(
        RoutingError,
        "the annotations of a neighbour contradict the document",
        "The neighbour is faulty or malicious: examine it before you connect it again.",
    ),
    "routing.fixed": ErrorSpec(
        RoutingError,
        "the subscriptions and neighbours of a stored router cannot change",
        "Change the subscriptions of the tree, and write it again.",
    ),
    "routing.tree": ErrorSpec(
        RoutingError,
        "the links of routers do not form a tree, or a router is not part of it",
        "Every router is reached from every other over exactly one path; name routers of the tree.",
    ),
    "routing.state": ErrorSpec(
        RoutingError,
        "the stored state of a router cannot be restored",
        "Use the version that stored it, or start without a state; neighbours synchronise.",
    ),
    "routing.address": ErrorSpec(
        RoutingError,
        "an address is malformed",
        "Use HOST:PORT, such as 127.0.0.1:7400, [::1]:7400, or unix:PATH.",
    ),
    "routing.listen": ErrorSpec(
        RoutingError,
        "a router cannot listen on an address",
        "Choose another port; port 0 takes a free one. Another process may use this one.",
    ),
    "routing.insecure": ErrorSpec(
        RoutingError,
        "a router without tokens would accept every connection",
        "Give a token file with `--token-file`, or `--insecure` on an address of this machine.",
    ),
    "routing.token-file": ErrorSpec(
        RoutingError,
        "the token file is malformed",
        "A line has a name, `router` or `client`, and at least 32 hexadecimal digits, for example"
        " from `openssl rand -hex 32`.",
    ),
    "routing.header-bytes": ErrorSpec(
        RoutingError,
        "the header of a document is too long to be routed",
        "Put data into the document, and register a large mapping instead of carrying it.",
    ),
    "routing.too-many-subscriptions": ErrorSpec(
        RoutingError,
        "a subscriber has too many subscriptions at a router",
        "Merge queries with `|`, remove subscriptions, or use several names.",
    ),
    "routing.deliveries-full": ErrorSpec(
        RoutingError,
        "a subscriber has not acknowledged its deliveries for too long, and the oldest are"
        " discarded",
        "Connect the subscriber, or remove its subscriptions.",
    ),
}
