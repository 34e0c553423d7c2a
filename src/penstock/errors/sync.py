"""Errors of synchronisation."""

from __future__ import annotations

from penstock.errors.classes import DocumentError, ErrorSpec, SyncError

ERRORS: dict[str, ErrorSpec] = {
    "limit.tree": ErrorSpec(
        DocumentError,
        "a document tree exceeds a limit",
        "Raise `TREE_NODES_MAX` or `TREE_TEXT_BYTES_MAX`, or split the document.",
    ),
    "sync.node": ErrorSpec(
        SyncError,
        "there is no such node, or not one of the required kind",
        "It was deleted, or is not part of the cache.",
    ),
    "sync.identity": ErrorSpec(
        SyncError,
        "a new node has the identity of another",
        "Create identities with the replica number that the server assigned.",
    ),
    "sync.patch": ErrorSpec(
        SyncError,
        "a patch or snapshot is malformed, or does not fit the tree",
        "Clone again.",
    ),
    "sync.message": ErrorSpec(
        SyncError,
        "a message between client and server is invalid",
        "Compare the versions of both sides.",
    ),
    "sync.clients": ErrorSpec(
        SyncError,
        "a server has more clients than the limit",
        "Remove clients that do not come back, or use several servers.",
    ),
    "sync.not-cloned": ErrorSpec(
        SyncError,
        "a client has no cache yet",
        "Send `clone()` to the server, and give its answer to `receive`.",
    ),
    "sync.pending": ErrorSpec(
        SyncError,
        "a client has more pending statements than the limit",
        "Synchronise with the server first.",
    ),
    "sync.undo": ErrorSpec(
        SyncError,
        "there is nothing to undo, or to do again",
        "Only the client's own statements can be undone, the last one first.",
    ),
    "sync.change": ErrorSpec(
        SyncError,
        "the description of a change is invalid",
        "Name at least one touched node; its label path begins with the name of the root.",
    ),
    "sync.too-many-subscriptions": ErrorSpec(
        SyncError,
        "an index of affected subscriptions has more subscriptions than the limit",
        "Remove subscriptions, or raise `subscriptions_max`.",
    ),
}
