"""Errors in mappings, in rewriting documents, and in the mediator."""

from __future__ import annotations

from penstock.errors.classes import DocumentError, ErrorSpec, MappingError

ERRORS: dict[str, ErrorSpec] = {
    "mapping.syntax": ErrorSpec(
        MappingError,
        "a mapping file is malformed",
        "Begin with `penstock mapping 1`, followed by the outline of the local schema with"
        " operators after `=>` below their nodes.",
    ),
    "mapping.node": ErrorSpec(
        MappingError,
        "an operator names a node or attribute that does not exist",
        "Operators name nodes by their path in the local schema; above the root only Insert is"
        " possible.",
    ),
    "mapping.children": ErrorSpec(
        MappingError,
        "an operator refers to a node that is not a child when the operator is applied",
        "Exchanges are applied first, then all others from the root down; at each node ToElement,"
        " Downgrade, Insert, Upgrade, Rename.",
    ),
    "mapping.root": ErrorSpec(
        MappingError,
        "an Upgrade is at the root, which cannot have siblings",
        "Wrap the root first with an Insert above it: `=> insert NAME (ROOT)` before the first"
        " node.",
    ),
    "mapping.repeated": ErrorSpec(
        MappingError,
        "two operators at a node contradict each other, or should be combined",
        "Keep one Upgrade per node, one Insert per path and one Rename per name.",
    ),
    "mapping.attribute": ErrorSpec(
        MappingError,
        "two attributes of a node would have the same name",
        "Rename one of them.",
    ),
    "mapping.name": ErrorSpec(
        MappingError,
        "an operator introduces a name that XML does not allow",
        "Names consist of letters, digits, `-`, `_` and `.`; `xmlns` cannot be an attribute, and"
        " its namespace has no names.",
    ),
    "mapping.levels": ErrorSpec(
        MappingError,
        "the transformed schema has more levels than the limit",
        "Insert shorter paths: every inserted element, and every node that Exchange or Downgrade"
        " moves down, adds a level.",
    ),
    "mapping.copies": ErrorSpec(
        DocumentError,
        "rewriting would copy or insert more nodes than the limit",
        "Exchange copies a node into each of its children, and Insert creates a path in each"
        " element: split the document into smaller ones.",
    ),
    "mapping.depth": ErrorSpec(
        DocumentError,
        "a rewritten document is nested too deeply",
        "Operators that insert elements or move them down add levels: raise the limit `depth`.",
    ),
    "mapping.held": ErrorSpec(
        DocumentError,
        "rewriting would buffer more of a document than the limit",
        "A blocking operator waits for the end of a large element: split the document into smaller"
        " ones.",
    ),
    "mapping.uneven": ErrorSpec(
        MappingError,
        "the numbers of mappings and documents differ",
        "Pass one mapping per document, or `None` for a document to be matched without one.",
    ),
    "mapping.way": ErrorSpec(
        MappingError,
        "the rewriting strategy is unknown",
        "Use `sdr`, `nddr` or `iddr`.",
    ),
    "mapping.matching": ErrorSpec(
        MappingError,
        "a schema matching is malformed, not one-to-one, or not between these schemas",
        "Begin with `penstock matching 1`, followed by one pair per line: the local place and the"
        " global one.",
    ),
    "mapping.pairs": ErrorSpec(
        MappingError,
        "the schemas are too large to be matched automatically",
        "Infer them from sample documents, which contain only what is used, or delete unused parts"
        " from the printed schema.",
    ),
    "mapping.abbreviations": ErrorSpec(
        MappingError,
        "an abbreviations file is malformed",
        "Begin with `penstock abbreviations 1`, followed by one line per abbreviation: the short"
        " form and its words; or synonyms separated by `=`.",
    ),
    "mediation.schema": ErrorSpec(
        DocumentError,
        "the document's header names a schema that is not registered",
        "Register its mapping with `penstock mapping register` and replay the dead letter, or"
        " match such documents without a mapping: `penstock run --unknown-schema as-is`.",
    ),
    "mediation.carried": ErrorSpec(
        DocumentError,
        "the mapping in the document's header is malformed or too large",
        "Replay the dead letter with `--mapping FILE`; register a large mapping and name it by its"
        " digest.",
    ),
    "mediation.digest": ErrorSpec(
        DocumentError,
        "the mapping in the document's header does not have the digest that the header names",
        "`penstock mapping check --json` prints a mapping's digest; replay the dead letter with"
        " `--mapping FILE`, which sends both.",
    ),
    "mediation.mapping": ErrorSpec(
        DocumentError,
        "the document's header names a mapping by a digest that is not registered, or that can no"
        " longer be read",
        "Register it with `penstock mapping register` and replay the dead letter, or send the"
        " mapping itself.",
    ),
    "mediation.domain": ErrorSpec(
        MappingError,
        "the domain does not exist, is ambiguous, or is in use",
        "`penstock domain list` shows the domains, `penstock domain add` creates one, `--domain`"
        " selects one.",
    ),
    "mediation.version": ErrorSpec(
        MappingError,
        "a global schema is not a valid successor of the previous version",
        "Give it the next number, and keep every element and attribute: subscriptions depend on"
        " them.",
    ),
    "mediation.name": ErrorSpec(
        MappingError,
        "a publisher or schema name is invalid",
        "Use up to 200 visible characters; spaces are allowed only between them.",
    ),
    "mediation.limit": ErrorSpec(
        MappingError,
        "there are more local schemas than the limit",
        "Remove schemas that are no longer in use: `penstock mapping remove`.",
    ),
    "mediation.unregistered": ErrorSpec(
        MappingError,
        "the local schema or mapping is not registered",
        "`penstock mapping list` shows those that are; without `--publisher`, a schema applies to"
        " any publisher.",
    ),
    "mapping.query": ErrorSpec(
        MappingError,
        "a query on the global schema cannot be rewritten for a local schema",
        "Rewrite the documents instead: `MediatedMatcher` supports every query.",
    ),
}
