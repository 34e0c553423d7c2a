"""Errors in XPath and keyword queries."""

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
        "the query is not valid XPath",
        "See the position; strings need quotes, conditions need square brackets.",
    ),
    "query.character": ErrorSpec(
        QueryError,
        "the query contains a character that XML does not allow",
        "Remove it: no document can contain it.",
    ),
    "query.limit": ErrorSpec(
        QueryError,
        "the query exceeds a limit",
        "Split it into several subscriptions.",
    ),
    "query.namespaces": ErrorSpec(
        QueryError,
        "the namespace map of a query is invalid",
        "Map prefixes to namespace URIs; use `default_namespace` for names without a prefix.",
    ),
    "query.prefix": ErrorSpec(
        QueryError,
        "a prefix in the query is not in its namespace map",
        "Bind it: `namespaces` in Python and JSON, `--namespace p=URI` on the command line,"
        " `@namespace p=URI` in a subscription file; `*:name` matches any namespace.",
    ),
    "query.axis": ErrorSpec(
        QueryError,
        "the query uses an axis that is not supported",
        "Use `/`, `//` and `@`; instead of going up, put a condition on the upper step: `a[b]`.",
    ),
    "query.node-test": ErrorSpec(
        QueryError,
        "the query selects a kind of node that cannot be selected",
        "Use `*` for elements, `@*` for attributes, `text()` for text.",
    ),
    "query.leaf": ErrorSpec(
        QueryError,
        "the query continues below an attribute or text",
        "End the path there, or put the condition on the parent element.",
    ),
    "query.document-node": ErrorSpec(
        QueryError,
        "the query selects the document itself",
        "Select an element: `/*` matches every document.",
    ),
    "query.not-nodes": ErrorSpec(
        QueryError,
        "the query returns a value instead of nodes",
        "Put the condition in square brackets after a path: `/a[b = 'x']`.",
    ),
    "query.absolute": ErrorSpec(
        QueryError,
        "a predicate contains an absolute path",
        "Start it at the node, with `.//a` instead of `//a`, or move the condition to an upper"
        " step.",
    ),
    "query.filter": ErrorSpec(
        QueryError,
        "a predicate or further steps follow an expression that is not a step",
        "Put the predicate on each step, as in `a[1]`, and write out each branch of a union in"
        " full.",
    ),
    "query.positional-descendant": ErrorSpec(
        QueryError,
        "the query uses `descendant::` with a position",
        "Write `//x[1]` for the first among its siblings; the first in the document is not"
        " supported.",
    ),
    "query.function": ErrorSpec(
        QueryError,
        "the query calls a function that is not supported, or with wrong arguments",
        "Use `not(a)`, `count(a)`, `position()`, `last()`, `contains(a, 'x')`,"
        " `starts-with(a, 'x')`, `ends-with(a, 'x')`, `matches(a, 'x')`, `string-length(a)`,"
        " `normalize-space(a)`, `lower-case(a)`, `upper-case(a)`, `translate(a, 'x', 'y')`,"
        " `xs:date(a)` or `xs:dateTime(a)`.",
    ),
    "query.pattern": ErrorSpec(
        QueryError,
        "the pattern of `matches()` is not a regular expression of XPath 2.0, or not supported",
        "See the position; back-references and Unicode blocks are not supported, and the flags are"
        " `i`, `s`, `m` and `x`.",
    ),
    "query.date": ErrorSpec(
        QueryError,
        "a string in the query is not a date",
        "Write `xs:date('2018-01-31')` or `xs:dateTime('2018-01-31T12:00:00Z')`.",
    ),
    "query.variable": ErrorSpec(
        QueryError,
        "the query uses a variable",
        "Write the value itself.",
    ),
    "query.arithmetic": ErrorSpec(
        QueryError,
        "the query contains arithmetic",
        "Write the result as a number; in a name, put no spaces around a hyphen.",
    ),
    "query.comparison": ErrorSpec(
        QueryError,
        "the query compares operands that cannot be compared",
        "Compare a path with a path, a string or a number, `count(a)` with a number, `xs:date(a)`"
        " with `xs:date('2018-01-01')`; instead of a union, use `a = 'x' or b = 'x'`.",
    ),
    "query.constant": ErrorSpec(
        QueryError,
        "a condition has the same value for every node",
        "Leave it out, or test something: `[@a]`, `[b = 'x']`, `[2]`.",
    ),
    "query.unprintable": ErrorSpec(
        QueryError,
        "the syntax tree cannot be written as XPath",
        "Use strings with one kind of quote, and finite numbers.",
    ),
    "keywords.none": ErrorSpec(
        QueryError,
        "the query contains no word",
        "Write words, such as `storm warning`; a word contains a letter or a digit.",
    ),
    "keywords.mixed": ErrorSpec(
        QueryError,
        "the query mixes words with and without `OR`",
        "Write `storm warning` for both words or `storm OR warning` for either. Subscribe several"
        " times for a mixture: `storm surge` and `gale surge` for `(storm OR gale) AND surge`.",
    ),
    "keywords.unsupported": ErrorSpec(
        QueryError,
        "a keyword query uses search syntax that is not supported",
        "Write words, with `AND` or `OR` between them, or a phrase in quotation marks. Words match"
        " exactly; none can be excluded.",
    ),
    "keywords.too-long": ErrorSpec(
        QueryError,
        "the text of the query has more characters than the limit",
        "Keep the most specific words, or split the query into several subscriptions.",
    ),
    "keywords.word-too-long": ErrorSpec(
        QueryError,
        "a word of the query exceeds the length limit",
        "Leave it out: the tokenizer skips words of this length in documents too.",
    ),
    "keywords.too-many": ErrorSpec(
        QueryError,
        "the query, or a phrase in it, has more words than the limit",
        "Keep the most specific words, or split the query into several subscriptions.",
    ),
    "keywords.or-too-large": ErrorSpec(
        DocumentError,
        "a document is too large to locate the answers to keywords with `OR`",
        "Split it into records by a path, such as `/feed/entry`; matching itself, and keywords"
        " without `OR`, have no such limit.",
    ),
    "keywords.too-many-answers": ErrorSpec(
        DocumentError,
        "the answers of a document to keyword queries take more memory than the limit",
        "Split it into records by a path, such as `/feed/entry`.",
    ),
    "keywords.too-many-elements": ErrorSpec(
        DocumentError,
        "a document has too many elements to number the answers to keywords",
        "Split it into records by a path, such as `/feed/entry`.",
    ),
}
