"""The errors of queries: paths and keywords."""

from __future__ import annotations

from penstock.errors.classes import DocumentError, ErrorSpec, QueryError

ERRORS: dict[str, ErrorSpec] = {
    "query.empty": ErrorSpec(
        QueryError,
        "the query is empty",
        "Write a path, such as `/news//item`.",
    ),
    "query.syntax": ErrorSpec(
        QueryError,
        "the query is not written as XPath",
        "Look at the position given; strings go in quotes, conditions in square brackets.",
    ),
    "query.character": ErrorSpec(
        QueryError,
        "the query has a character that XML does not allow",
        "Remove it: no document can contain it.",
    ),
    "query.limit": ErrorSpec(
        QueryError,
        "the query is larger than a named limit",
        "Split it into several subscriptions.",
    ),
    "query.namespaces": ErrorSpec(
        QueryError,
        "the namespace map of a query is not usable",
        "Map prefixes to namespace URIs; `default_namespace` is for names without a prefix.",
    ),
    "query.prefix": ErrorSpec(
        QueryError,
        "a prefix of the query is not in its namespace map",
        "Bind it in `namespaces`, or by `--namespace p=URI`; `*:name` is any namespace's.",
    ),
    "query.axis": ErrorSpec(
        QueryError,
        "the query uses an axis that is not supported",
        "Use `/`, `//` and `@`; in place of going up, put a condition on the upper step: `a[b]`.",
    ),
    "query.node-test": ErrorSpec(
        QueryError,
        "the query selects nodes of a kind that cannot be selected",
        "Use `*` for elements, `@*` for attributes, `text()` for text.",
    ),
    "query.leaf": ErrorSpec(
        QueryError,
        "the query goes on below an attribute or text",
        "End the path there, or put the condition on the element above.",
    ),
    "query.document-node": ErrorSpec(
        QueryError,
        "the query selects the document itself",
        "Select an element: `/*` matches every document.",
    ),
    "query.not-nodes": ErrorSpec(
        QueryError,
        "the query gives a value, not nodes",
        "Put the condition in square brackets after a path: `/a[b = 'x']`.",
    ),
    "query.absolute": ErrorSpec(
        QueryError,
        "a predicate has a path from the document's root",
        "Start it at the node: `.//a` in place of `//a`; or move the condition to an upper step.",
    ),
    "query.filter": ErrorSpec(
        QueryError,
        "something that is not a step has a predicate or steps",
        "Write the predicate on each step, `a[1]`, and the whole path in each branch of a union.",
    ),
    "query.positional-descendant": ErrorSpec(
        QueryError,
        "the query uses `descendant::` with a position",
        "Write `//x[1]` for the first among its siblings; the first of all cannot be asked for.",
    ),
    "query.function": ErrorSpec(
        QueryError,
        "the query calls a function that is not supported, or calls it wrongly",
        "Use `not(a)`, `contains(a, 'x')`, `starts-with(a, 'x')`, `position()` or `last()`.",
    ),
    "query.variable": ErrorSpec(
        QueryError,
        "the query uses a variable",
        "Write the value itself.",
    ),
    "query.arithmetic": ErrorSpec(
        QueryError,
        "the query calculates",
        "Write the result as a number; a name with a hyphen has no spaces around it.",
    ),
    "query.comparison": ErrorSpec(
        QueryError,
        "the query compares what cannot be compared here",
        "Compare one path with a string or a number; for several, `a = 'x' or b = 'x'`.",
    ),
    "query.constant": ErrorSpec(
        QueryError,
        "a condition is the same for every node",
        "Leave it out, or ask for something: `[@a]`, `[b = 'x']`, `[2]`.",
    ),
    "query.unprintable": ErrorSpec(
        QueryError,
        "no text stands for this tree",
        "Use strings with one kind of quotes, and numbers that are numbers.",
    ),
    "keywords.none": ErrorSpec(
        QueryError,
        "the query has no word",
        "Write words, such as `storm warning`: a word holds a letter or a digit.",
    ),
    "keywords.mixed": ErrorSpec(
        QueryError,
        "`OR` does not stand between any two words of the query and no others",
        "Write `storm warning` for both or `storm OR warning` for any; for both kinds, subscribe "
        "twice.",
    ),
    "keywords.word-too-long": ErrorSpec(
        QueryError,
        "a word of the query is longer than a word may be",
        "Leave it out: in documents, what is so long is no word either.",
    ),
    "keywords.too-many": ErrorSpec(
        QueryError,
        "the query has more words than a query may have",
        "Keep those that tell most, or split it into several subscriptions.",
    ),
    "keywords.or-too-large": ErrorSpec(
        DocumentError,
        "a document is too large to be searched for answers to keywords with `OR`",
        "Cut it into records by a path, such as `/feed/entry`; whether it matches, and keywords "
        "without `OR`, need no cutting.",
    ),
    "keywords.too-many-answers": ErrorSpec(
        DocumentError,
        "a document has more answers to keyword queries than the limit",
        "Cut it into records by a path, such as `/feed/entry`.",
    ),
    "keywords.too-many-elements": ErrorSpec(
        DocumentError,
        "a document has more elements than keyword answers can be numbered with",
        "Cut it into records by a path, such as `/feed/entry`.",
    ),
}
