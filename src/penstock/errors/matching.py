"""Errors in subscriptions, engines and index files."""

from __future__ import annotations

from penstock.errors.classes import (
    DocumentError,
    EngineError,
    ErrorSpec,
    IndexFileError,
    MissingIndexError,
    QueryError,
    UnknownSubscriptionError,
)

ERRORS: dict[str, ErrorSpec] = {
    "limit.candidates": ErrorSpec(
        DocumentError,
        "an explained query has more undecided nodes at a time than the limit",
        "Narrow the query, or raise the limit; conditions on later nodes leave earlier ones"
        " undecided.",
    ),
    "limit.comparison": ErrorSpec(
        DocumentError,
        "an explained query has more text in compared or counted nodes than the limit",
        "Narrow the query: compare values of smaller elements, such as `@id = ref` instead of"
        " `. = //ref`.",
    ),
    "subscription.duplicate": ErrorSpec(
        QueryError,
        "the subscription id is already in use",
        "Remove that subscription first, or choose another id.",
    ),
    "subscription.id": ErrorSpec(
        QueryError,
        "the subscription id is too long, or is not text",
        "Use a short string; a lone surrogate, which Python makes of an undecodable byte, is"
        " not a character.",
    ),
    "subscription.where": ErrorSpec(
        QueryError,
        "the tests of header fields of a subscription are invalid",
        "Write `field=value` with printable characters; `lang=en`, for example.",
    ),
    "engine.where": ErrorSpec(
        EngineError,
        "the engine cannot match subscriptions that test header fields",
        "Use the default engine, or `reference`.",
    ),
    "subscription.uneven": ErrorSpec(
        QueryError,
        "the numbers of ids and queries differ",
        "Pass one query for each id.",
    ),
    "subscription.unknown": ErrorSpec(
        UnknownSubscriptionError,
        "there is no subscription with that id",
        "`penstock subscriptions list` shows those of a workspace; a matcher knows those that its"
        " index held when it was created.",
    ),
    "document.header": ErrorSpec(
        DocumentError,
        "a value in the header of a document is not text",
        "Decode the value correctly: Python makes a lone surrogate of an undecodable byte.",
    ),
    "document.missing": ErrorSpec(
        DocumentError,
        "a row of a batch has no document",
        "Filter out rows whose document is null.",
    ),
    "engine.unknown": ErrorSpec(
        EngineError,
        "the engine is unknown, or the index does not support it",
        "Use `shared`, `yfilter` or `reference`; for keywords `postings`, `kemb`, `kale`, `slca`"
        " or `reference`. An index built for `reference` supports no other engine.",
    ),
    "index.missing": ErrorSpec(
        MissingIndexError,
        "a file of an index version is missing",
        "Build the version again from the subscriptions; `penstock run` does so automatically.",
    ),
    "index.not-an-index": ErrorSpec(
        IndexFileError,
        "the file is not an index",
        "Pass a file written by `save` of the same class; keyword indexes have a format of their"
        " own.",
    ),
    "index.too-new": ErrorSpec(
        IndexFileError,
        "the index was written by a newer version of Penstock",
        "Read it with the version that wrote it, or build it again from the subscriptions.",
    ),
    "index.too-old": ErrorSpec(
        IndexFileError,
        "the index was written by an older version of Penstock, in a format that is no longer"
        " supported",
        "Build it again from the subscriptions.",
    ),
    "index.damaged": ErrorSpec(
        IndexFileError,
        "the index fails its checksum, is truncated, or has an invalid structure",
        "Copy the file again, or build it again from the subscriptions.",
    ),
}
