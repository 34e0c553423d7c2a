"""Errors in update statements."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, UpdateError

ERRORS: dict[str, ErrorSpec] = {
    "update.syntax": ErrorSpec(
        UpdateError,
        "an update statement is malformed",
        'Write `path!function(argument)`, such as `/Menu/Entree[0]!insert(Name/"Soup")`.',
    ),
    "update.function": ErrorSpec(
        UpdateError,
        "an update statement uses an unknown function",
        "Use insert, delete, copy, move or update; insert, copy, move also with Before or After.",
    ),
    "update.argument": ErrorSpec(
        UpdateError,
        "the argument of an update function is invalid",
        'insert takes a plain path such as `Name/"Soup"` or `@note/"new"`, copy and move a path,'
        " update a value in quotes, delete nothing.",
    ),
    "update.path": ErrorSpec(
        UpdateError,
        "a path of an update statement is not supported",
        "Attributes, text, comments and instructions end a path.",
    ),
    "update.prefix": ErrorSpec(
        UpdateError,
        "a prefix in an update statement is not bound",
        "Bind it with `namespaces`.",
    ),
    "update.subscription": ErrorSpec(
        UpdateError,
        "a path of extended XQL is not supported in a subscription",
        "Subscriptions select elements, text and attributes downwards. An index counts the nodes of"
        " one step, or, as the last filter of a group, those of the whole document.",
    ),
    "update.value": ErrorSpec(
        UpdateError,
        "a value cannot be written in the text of a statement",
        "Use the Python API, which takes any value, or split the text.",
    ),
    "update.limit": ErrorSpec(
        UpdateError,
        "an update statement exceeds a limit",
        "Split it into several statements.",
    ),
    "update.no-target": ErrorSpec(
        UpdateError,
        "a path of an update statement selects nothing in the cache",
        "Check the path against the cached document; positions count from 0.",
    ),
    "update.bare": ErrorSpec(
        UpdateError,
        "an update would change a bare ancestor, of which the cache has only the name",
        "Subscribe to the element itself; inserting below it is allowed.",
    ),
    "update.root": ErrorSpec(
        UpdateError,
        "an update would delete or move the root element, or give it siblings",
        "Change what is below the root element.",
    ),
    "update.cycle": ErrorSpec(
        UpdateError,
        "an update would move a node into itself",
        "Choose a target outside the moved node, or copy it.",
    ),
    "update.kind": ErrorSpec(
        UpdateError,
        "an update does not fit the kind of its target",
        "Elements have children and attributes; text, comments and instructions have a value.",
    ),
    "update.content": ErrorSpec(
        UpdateError,
        "an update would create something that XML does not allow",
        "Check names, prefixes and characters.",
    ),
}
