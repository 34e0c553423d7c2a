"""The errors of mappings, of rewriting by them, and of the mediator."""

from __future__ import annotations

from penstock.errors.classes import DocumentError, ErrorSpec, MappingError

ERRORS: dict[str, ErrorSpec] = {
    "mapping.syntax": ErrorSpec(
        MappingError,
        "a mapping file is not written as it must be",
        "Begin with `penstock mapping 1`; then the local schema as an outline, operators behind"
        " `=>` below their nodes.",
    ),
    "mapping.node": ErrorSpec(
        MappingError,
        "an operator is for a node or attribute that is not there",
        "Operators name nodes of the local schema by the path they have there; above the root"
        " there is only Insert.",
    ),
    "mapping.children": ErrorSpec(
        MappingError,
        "an operator moves something that is not a child of its node when its turn comes",
        "Exchanges come first, then the nodes from the root down; at each ToElement, Downgrade,"
        " Insert, Upgrade, Rename.",
    ),
    "mapping.root": ErrorSpec(
        MappingError,
        "an Upgrade is at the root, beside which nothing can stand",
        "Wrap the root first: an Insert above it, `=> insert NAME (ROOT)` before the first node.",
    ),
    "mapping.repeated": ErrorSpec(
        MappingError,
        "two operators at one node contradict each other, or should be one",
        "Keep one Upgrade, one Insert a path and one Rename a name at each node.",
    ),
    "mapping.attribute": ErrorSpec(
        MappingError,
        "two attributes of a node would have the same name",
        "Give one of them another name.",
    ),
    "mapping.name": ErrorSpec(
        MappingError,
        "an operator gives a name that XML does not allow",
        "Names are letters, digits, `-`, `_` and `.`; `xmlns` is no attribute, and its namespace"
        " has no names.",
    ),
    "mapping.copies": ErrorSpec(
        DocumentError,
        "a mapping would copy more of a document than the limit",
        "Exchange copies a node into each of its children: cut the document into smaller ones.",
    ),
    "mapping.depth": ErrorSpec(
        DocumentError,
        "a document is too deep once a mapping has rewritten it",
        "Operators that insert or move down make it deeper: raise the limit `depth`.",
    ),
    "mapping.held": ErrorSpec(
        DocumentError,
        "a mapping would hold back more of a document than the limit",
        "An operator waits for the end of a large element: cut the document into smaller ones.",
    ),
    "mapping.uneven": ErrorSpec(
        MappingError,
        "there are not as many mappings as documents",
        "Give one mapping a document, or `None` for one that is matched as it is.",
    ),
    "mapping.way": ErrorSpec(
        MappingError,
        "there is no such way of rewriting",
        "The ways are `sdr`, `nddr` and `iddr`.",
    ),
    "mapping.matching": ErrorSpec(
        MappingError,
        "a schema matching is not one-to-one, or not between these schemas",
        "Begin with `penstock matching 1`; then a line a pair: the local place and the global one.",
    ),
    "mapping.pairs": ErrorSpec(
        MappingError,
        "schemas are too large to be matched automatically",
        "Infer them from sample documents, which have only what is used, or delete from the printed"
        " schema what is not.",
    ),
    "mapping.abbreviations": ErrorSpec(
        MappingError,
        "a file of abbreviations is not written as it must be",
        "Begin with `penstock abbreviations 1`; then a line each: the short form and its words.",
    ),
    "mediation.schema": ErrorSpec(
        DocumentError,
        "the document's header names a schema that nobody registered",
        "Register its mapping with `penstock mapping register`, then replay the dead letter; or"
        " match such documents as they are: `penstock run --unknown-schema as-is`.",
    ),
    "mediation.carried": ErrorSpec(
        DocumentError,
        "the mapping in the document's header cannot be read, or is too large",
        "Replay the dead letter with `--mapping FILE`, another mapping; a large one is registered,"
        " and named by its digest.",
    ),
    "mediation.digest": ErrorSpec(
        DocumentError,
        "the mapping in the document's header is not the one that the header names",
        "`penstock mapping check --json` tells a mapping's digest; replay the dead letter with"
        " `--mapping FILE`, which sends both.",
    ),
    "mediation.mapping": ErrorSpec(
        DocumentError,
        "the document's mapping is named by a digest that nobody registered, or cannot be read any"
        " more",
        "Register it with `penstock mapping register`, then replay the dead letter; or send the"
        " mapping itself.",
    ),
    "mediation.domain": ErrorSpec(
        MappingError,
        "there is no such domain, several to choose from, or one that is in use",
        "`penstock domain list` shows them, `penstock domain add` makes one, `--domain` names one.",
    ),
    "mediation.version": ErrorSpec(
        MappingError,
        "a global schema cannot follow the version before it",
        "Give it the next number, and keep each element and attribute: subscriptions ask for them.",
    ),
    "mediation.name": ErrorSpec(
        MappingError,
        "a publisher or a schema cannot be registered under that name",
        "Use up to 200 visible characters, with spaces only inside.",
    ),
    "mediation.limit": ErrorSpec(
        MappingError,
        "more local schemas than the limit",
        "Remove those that nobody sends any more: `penstock mapping remove`.",
    ),
    "mediation.unregistered": ErrorSpec(
        MappingError,
        "no such local schema or mapping is registered",
        "`penstock mapping list` shows what is; without `--publisher` a schema is any publisher's.",
    ),
    "mapping.query": ErrorSpec(
        MappingError,
        "a query to the global schema cannot be rewritten for a local one",
        "Let the documents be rewritten instead: `MediatedMatcher` does it for every query.",
    ),
}
