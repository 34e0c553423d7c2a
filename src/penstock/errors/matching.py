"""The errors of subscriptions, engines and index files."""

from __future__ import annotations

from penstock.errors.classes import (
    DocumentError,
    EngineError,
    ErrorSpec,
    IndexFileError,
    QueryError,
    UnknownSubscriptionError,
)

ERRORS: dict[str, ErrorSpec] = {
    "limit.candidates": ErrorSpec(
        DocumentError,
        "more nodes of a document are undecided at once than the limit",
        "Narrow the query, or raise the limit: conditions on what comes late keep nodes waiting.",
    ),
    "subscription.duplicate": ErrorSpec(
        QueryError,
        "a subscription of that id is there already",
        "Remove it first, or give the new one another id.",
    ),
    "subscription.uneven": ErrorSpec(
        QueryError,
        "ids and queries differ in number",
        "Pass one query for each id.",
    ),
    "subscription.unknown": ErrorSpec(
        UnknownSubscriptionError,
        "no subscription has that id",
        "`penstock subscriptions list` shows a workspace's; a matcher knows those its index held"
        " when it was made.",
    ),
    "document.missing": ErrorSpec(
        DocumentError,
        "a row of a batch has no document",
        "Leave out the rows whose document is null.",
    ),
    "engine.unknown": ErrorSpec(
        EngineError,
        "there is no such engine, or this index cannot serve it",
        "Use `shared`, `yfilter` or `reference`, for keywords `postings`, `kemb`, `kale`, `slca` or"
        " `reference`; an index for `reference` serves no other.",
    ),
    "index.missing": ErrorSpec(
        IndexFileError,
        "a file of an index version is not there",
        "Build the version again from the subscriptions; `penstock run` does so by itself.",
    ),
    "index.not-an-index": ErrorSpec(
        IndexFileError,
        "the file is not an index",
        "Pass a file that `save` of the same class wrote: keywords have an index of their own.",
    ),
    "index.too-new": ErrorSpec(
        IndexFileError,
        "the index was written by a newer version",
        "Read it with the version that wrote it, or build it again from the subscriptions.",
    ),
    "index.too-old": ErrorSpec(
        IndexFileError,
        "the index was written by an older version, in a format that is no longer read",
        "Build it again from the subscriptions.",
    ),
    "index.damaged": ErrorSpec(
        IndexFileError,
        "the index does not meet its checksum, or ends early",
        "Copy the file again, or build it again from the subscriptions.",
    ),
}
