"""The one error table: every error has a stable code, a class, a message with position, a hint.

Codes are ``room.cause``. The native core raises by code; :func:`error` turns a code into the
class the table names. Every class is also a builtin's subclass, so that callers who know nothing
of Penstock can still catch sensibly.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.error_classes import (
    DocumentError,
    EngineError,
    IndexFileError,
    MappingError,
    MissingPackageError,
    NativeMissingError,
    NativeMissingWarning,
    PenstockError,
    PipelineError,
    PipelineFailure,
    QueryError,
    RecordsError,
    SchemaError,
    SubscriptionFileError,
    UnknownSubscriptionError,
    Where,
    WorkloadError,
    WorkspaceError,
)

__all__ = [
    "ERRORS",
    "DocumentError",
    "EngineError",
    "ErrorSpec",
    "IndexFileError",
    "MappingError",
    "MissingPackageError",
    "NativeMissingError",
    "NativeMissingWarning",
    "PenstockError",
    "PipelineError",
    "PipelineFailure",
    "QueryError",
    "RecordsError",
    "SchemaError",
    "SubscriptionFileError",
    "UnknownSubscriptionError",
    "Where",
    "WorkloadError",
    "WorkspaceError",
    "error",
]


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """One row of the table."""

    cls: type[PenstockError]
    meaning: str
    hint: str


ERRORS: dict[str, ErrorSpec] = {
    "native.missing": ErrorSpec(
        NativeMissingError,
        "the native core is not there and PENSTOCK_REQUIRE_NATIVE is set",
        "Install Rust 1.88 or newer and run `make setup`; `penstock doctor` shows what failed.",
    ),
    # Documents.
    "xml.character": ErrorSpec(
        DocumentError,
        "the document has a character that XML does not allow",
        "Remove it: control characters cannot even be written as references.",
    ),
    "xml.name": ErrorSpec(
        DocumentError,
        "a name is not one that XML allows",
        "Names begin with a letter or `_` and have no spaces.",
    ),
    "xml.tag": ErrorSpec(
        DocumentError,
        "there is markup that is no tag, comment, CDATA section or instruction",
        "Write `<` as `&lt;` where it is text.",
    ),
    "xml.attribute": ErrorSpec(
        DocumentError,
        "an attribute is not written as XML says",
        'Write `name="value"`, and `<` in a value as `&lt;`.',
    ),
    "xml.attribute-twice": ErrorSpec(
        DocumentError,
        "an element has the same attribute twice",
        "Keep one of them.",
    ),
    "xml.end-tag": ErrorSpec(
        DocumentError,
        "an end tag closes another element than the one open",
        "Close elements in the reverse order of opening them.",
    ),
    "xml.unclosed": ErrorSpec(
        DocumentError,
        "the document ends too early",
        "It may have been cut off on its way: compare its length.",
    ),
    "xml.root": ErrorSpec(
        DocumentError,
        "the document has not exactly one root element, or text beside it",
        "Wrap what it holds in one element.",
    ),
    "xml.text": ErrorSpec(
        DocumentError,
        "text has `]]>`",
        "Write `]]&gt;`.",
    ),
    "xml.comment": ErrorSpec(
        DocumentError,
        "a comment has `--`",
        "Put a space between the hyphens.",
    ),
    "xml.instruction": ErrorSpec(
        DocumentError,
        "a processing instruction is not written as XML says",
        "Its name may not be `xml` in any spelling.",
    ),
    "xml.declaration": ErrorSpec(
        DocumentError,
        "the XML declaration is not written as XML says, or not at the beginning",
        'Begin the document with `<?xml version="1.0"?>`, nothing before it.',
    ),
    "xml.reference": ErrorSpec(
        DocumentError,
        "a reference is not written as XML says",
        "Write `&` as `&amp;` where it is text.",
    ),
    "xml.doctype": ErrorSpec(
        DocumentError,
        "the document type declaration is not written as XML says",
        "See the position; external declarations are never read.",
    ),
    "encoding.unknown": ErrorSpec(
        DocumentError,
        "the document's encoding is not known, or cannot be decoded exactly",
        "Publish in UTF-8.",
    ),
    "encoding.bytes": ErrorSpec(
        DocumentError,
        "the document has bytes that are no text in its encoding",
        "Declare the encoding that the document is in.",
    ),
    "encoding.mismatch": ErrorSpec(
        DocumentError,
        "the document declares another encoding than it is in",
        "Declare the encoding that the document is in, or none for UTF-8.",
    ),
    "entity.undeclared": ErrorSpec(
        DocumentError,
        "the document refers to an entity that nothing declares",
        "Declare it inside the document, or pass it in `entities`.",
    ),
    "entity.external": ErrorSpec(
        DocumentError,
        "the document refers to an external entity",
        "External entities are never read: put their text into the document.",
    ),
    "entity.unparsed": ErrorSpec(
        DocumentError,
        "the document refers to an entity that is not text",
        "Name it in an attribute of type ENTITY instead.",
    ),
    "entity.recursive": ErrorSpec(
        DocumentError,
        "an entity contains itself",
        "Break the circle in the declarations.",
    ),
    "entity.unbalanced": ErrorSpec(
        DocumentError,
        "an entity holds a start tag without its end tag, or the reverse",
        "Put both into the entity.",
    ),
    "entity.doctype-refused": ErrorSpec(
        DocumentError,
        "the document has a document type declaration where these are refused",
        'Remove it, or read with `declarations="honour"`.',
    ),
    "namespace.prefix": ErrorSpec(
        DocumentError,
        "the document uses a prefix that nothing declares",
        'Declare it: `xmlns:p="..."` on the element or above.',
    ),
    "namespace.reserved": ErrorSpec(
        DocumentError,
        "the document misuses `xml`, `xmlns` or their namespaces",
        "Use other prefixes for your own namespaces.",
    ),
    "namespace.colon": ErrorSpec(
        DocumentError,
        "a name has a colon where none may be",
        "Use one colon, between prefix and name; none in targets and entities.",
    ),
    "namespace.empty": ErrorSpec(
        DocumentError,
        "a prefix is declared as no namespace",
        'Only the default namespace may be undeclared: `xmlns=""`.',
    ),
    "namespace.attribute-twice": ErrorSpec(
        DocumentError,
        "an element has two attributes of the same expanded name",
        "Keep one of them: their prefixes mean the same namespace.",
    ),
    "limit.document-bytes": ErrorSpec(
        DocumentError,
        "the document is longer than the limit",
        "If the publisher is trusted, read with `Limits(document_bytes=...)` raised.",
    ),
    "limit.depth": ErrorSpec(
        DocumentError,
        "elements are nested deeper than the limit",
        "If the publisher is trusted, read with `Limits(depth=...)` raised.",
    ),
    "limit.attributes": ErrorSpec(
        DocumentError,
        "an element has more attributes than the limit",
        "If the publisher is trusted, read with `Limits(attributes=...)` raised.",
    ),
    "limit.name-bytes": ErrorSpec(
        DocumentError,
        "a name is longer than the limit",
        "If the publisher is trusted, read with `Limits(name_bytes=...)` raised.",
    ),
    "limit.value-bytes": ErrorSpec(
        DocumentError,
        "an attribute's value is longer than the limit",
        "If the publisher is trusted, read with `Limits(value_bytes=...)` raised.",
    ),
    "limit.tag-bytes": ErrorSpec(
        DocumentError,
        "a tag is longer than the limit",
        "If the publisher is trusted, read with `Limits(tag_bytes=...)` raised.",
    ),
    "limit.doctype-bytes": ErrorSpec(
        DocumentError,
        "the document type declaration is longer than the limit",
        "If the publisher is trusted, read with `Limits(doctype_bytes=...)` raised.",
    ),
    "limit.entity-bytes": ErrorSpec(
        DocumentError,
        "entities expand to more than the limit",
        "If the publisher is trusted, read with `Limits(entity_bytes=...)` raised.",
    ),
    "limit.entity-depth": ErrorSpec(
        DocumentError,
        "entities are nested deeper than the limit",
        "If the publisher is trusted, read with `Limits(entity_depth=...)` raised.",
    ),
    "limit.entity-amplification": ErrorSpec(
        DocumentError,
        "entities expand the document more times over than the limit",
        "If the publisher is trusted, read with `Limits(entity_amplification=...)` raised.",
    ),
    "limit.names-bytes": ErrorSpec(
        DocumentError,
        "the document has more distinct names than the limit",
        "If the publisher is trusted, read with `Limits(names_bytes=...)` raised.",
    ),
    "limit.candidates": ErrorSpec(
        DocumentError,
        "more nodes of a document are undecided at once than the limit",
        "Narrow the query, or raise the limit: conditions on what comes late keep nodes waiting.",
    ),
    # Queries.
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
    # Keyword queries.
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
    # Schemas
    "schema.syntax": ErrorSpec(
        SchemaError,
        "the DTD is not written as XML says",
        "See the position; parameter entities are unfolded before it.",
    ),
    "schema.entity": ErrorSpec(
        SchemaError,
        "an entity is not declared, or contains itself",
        "Declare the entity before it is used, and not in terms of itself.",
    ),
    "schema.external": ErrorSpec(
        SchemaError,
        "an external parameter entity is used",
        "External entities are never loaded: put its declarations into the DTD itself.",
    ),
    "schema.limit": ErrorSpec(
        SchemaError,
        "a named limit on reading DTDs was reached",
        "Pass `limits=DtdLimits(...)` with a higher limit if the DTD is to be trusted.",
    ),
    "schema.duplicate": ErrorSpec(
        SchemaError,
        "an element is declared twice",
        "Keep one of the declarations.",
    ),
    "schema.undeclared": ErrorSpec(
        SchemaError,
        "a content model names an element that is not declared",
        "Declare the element, or leave it out of the content model.",
    ),
    "schema.root": ErrorSpec(
        SchemaError,
        "no element can be the root, or the given root is not declared",
        "Name what a document begins with: `roots=[...]`, or on the command line `penstock schema"
        " show FILE --root ELEMENT`, which prints a schema file that every command takes.",
    ),
    "schema.endless": ErrorSpec(
        SchemaError,
        "an element can never be complete",
        "Make the recursion optional with `?` or `*`.",
    ),
    "schema.namespace": ErrorSpec(
        SchemaError,
        "a prefix has no URI, or two labels name the same element",
        "Pass `namespaces={prefix: uri}` with one prefix for each URI.",
    ),
    "schema.encoding": ErrorSpec(
        SchemaError,
        "the DTD's bytes cannot be decoded",
        "Write DTDs in UTF-8, UTF-16, US-ASCII or ISO-8859-1, and declare which.",
    ),
    "schema.xsd": ErrorSpec(
        SchemaError,
        "the XSD is not a valid one, or needs something that may not be read",
        "Mend what the message names; what it includes must be files in its own folder or below:"
        " nothing else is loaded.",
    ),
    "schema.samples": ErrorSpec(
        SchemaError,
        "no schema can be inferred from the samples",
        "Give documents of one schema with one root, or name the root.",
    ),
    "schema.file": ErrorSpec(
        SchemaError,
        "a schema file is not written as it must be",
        "Begin with `penstock schema 1`; then a line a node, set in by two spaces below its"
        " parent.",
    ),
    "schema.domain": ErrorSpec(
        SchemaError,
        "a global schema has no domain, or none that can be named so",
        "Write `domain NAME version 1` above the root; a name has letters, digits, `-`, `_`"
        " and `.`.",
    ),
    # Mappings.
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
    # The mediator, and what headers say of mappings.
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
    # Workloads
    "lab.parameter": ErrorSpec(
        WorkloadError,
        "a parameter of a workload is out of its range",
        "See the parameter's docstring.",
    ),
    "lab.schema": ErrorSpec(
        WorkloadError,
        "no schema of that name is shipped",
        "Use one of the names listed, or read your own with `SchemaGraph.from_dtd_file`.",
    ),
    "lab.catalogue": ErrorSpec(
        WorkloadError,
        "no course catalogue of that name is shipped",
        "Use one of the names listed; `penstock generate catalogues` writes all of them out.",
    ),
    "lab.workload": ErrorSpec(
        WorkloadError,
        "no workload of that name is shipped",
        "Use one of the names listed, or make a `Workload` of your own.",
    ),
    "lab.exhausted": ErrorSpec(
        WorkloadError,
        "the schema does not give that many distinct queries",
        "Ask for fewer, for greater depth or more predicates, or allow equals: `distinct=False`.",
    ),
    "lab.plots": ErrorSpec(
        MissingPackageError,
        "the package that draws plots is not installed",
        "Install it with `pip install 'penstock[lab]'`, or run `make setup`.",
    ),
    # Matching.
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
    "records.from-entity": ErrorSpec(
        DocumentError,
        "an element on the path to the records comes out of an entity",
        "Expand the entity before publishing: a record needs bytes of its own.",
    ),
    "records.path": ErrorSpec(
        QueryError,
        "the path to the records is no plain path of elements from the root",
        "Write names or `*` between single slashes, such as `/feed/entry`, without predicates.",
    ),
    "records.changed": ErrorSpec(
        RecordsError,
        "a file of records was changed or removed while it was being read",
        "Move files into the folder whole, leave them as they are, and remove them when read.",
    ),
    "records.too-many-files": ErrorSpec(
        RecordsError,
        "a stream of records is asked to remember more files than it may",
        "Move the files that are read out of the folder, or read it by `read_archives`.",
    ),
    "archive.damaged": ErrorSpec(
        DocumentError,
        "an archive or a compressed file is damaged",
        "It may have been cut off on its way: compare its length, and send it again.",
    ),
    "archive.bytes": ErrorSpec(
        DocumentError,
        "an archive, a compressed file or a member unpacks to more than it may",
        "Publish it in parts, or raise the limit.",
    ),
    "archive.ratio": ErrorSpec(
        DocumentError,
        "an archive or a compressed file unpacks to too many times its own size",
        "It may be made to do harm; if not, raise the limit.",
    ),
    "archive.members": ErrorSpec(
        DocumentError,
        "an archive has more members than it may",
        "Publish it in parts, or raise the limit.",
    ),
    "archive.encrypted": ErrorSpec(
        DocumentError,
        "a member of an archive is encrypted",
        "Publish it as plain text.",
    ),
    "limit.record-bytes": ErrorSpec(
        DocumentError,
        "a record is longer than a record may be",
        "Choose a path to smaller elements, or raise the limit `record_bytes`.",
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
    # The pipeline.
    "pipeline.versions": ErrorSpec(
        PipelineError,
        "documents are to be matched against no version of the subscriptions",
        "Pass the URI of an index version, or those of its shards.",
    ),
    "pipeline.mode": ErrorSpec(
        PipelineError,
        "there is no such mode for documents that are refused",
        "Use PERMISSIVE, DROPMALFORMED or FAILFAST.",
    ),
    # Workspaces.
    "workspace.missing": ErrorSpec(
        WorkspaceError,
        "the folder is not a workspace",
        "Make one with `penstock init DIR`, or name another with `--workspace DIR`.",
    ),
    "workspace.exists": ErrorSpec(
        WorkspaceError,
        "the folder is a workspace already",
        "Use it as it is, or make the new one in another folder.",
    ),
    "workspace.too-new": ErrorSpec(
        WorkspaceError,
        "the workspace was made or upgraded by a newer version",
        "Use that version of Penstock, or a newer one.",
    ),
    "workspace.damaged": ErrorSpec(
        WorkspaceError,
        "the file of subscriptions is damaged, or no file of SQLite's",
        "Restore `penstock.sqlite` from a backup; the other folders are whole without it.",
    ),
    "workspace.busy": ErrorSpec(
        WorkspaceError,
        "another process has been writing to the workspace for too long",
        "Try again; if it lasts, look for a process that hangs.",
    ),
    "workspace.running": ErrorSpec(
        WorkspaceError,
        "another process runs the pipeline of this workspace",
        "Let that one go on, or stop it first: two would do the same work twice.",
    ),
    "workspace.full": ErrorSpec(
        WorkspaceError,
        "the disk has no room",
        "Make room, with `penstock clean` for instance, and do the same again: nothing is lost.",
    ),
    "workspace.name": ErrorSpec(
        WorkspaceError,
        "a name of a subscriber or subscription cannot be used",
        "Use up to 200 visible characters, with spaces only inside.",
    ),
    "subscriber.unknown": ErrorSpec(
        WorkspaceError,
        "nobody of that name has subscribed",
        "`penstock subscriptions list` shows who has.",
    ),
    "dead-letter.unknown": ErrorSpec(
        WorkspaceError,
        "there is no such dead letter",
        "`penstock dead-letters list --all` shows them, by number.",
    ),
    "document.unknown": ErrorSpec(
        WorkspaceError,
        "no file and no published document is called so",
        "Give a file, or an identity as `penstock mailbox` shows it.",
    ),
    "subscription.times": ErrorSpec(
        WorkspaceError,
        "a subscription expires before it starts",
        "Let it start earlier, or expire later.",
    ),
    "subscription.kind": ErrorSpec(
        WorkspaceError,
        "a subscription is neither XPath nor keywords, or keywords with namespaces",
        "Write `xpath` or `keywords`; namespaces are for XPath alone.",
    ),
    "subscription.returns": ErrorSpec(
        WorkspaceError,
        "a subscription returns neither documents nor fragments",
        "Write `document` or `fragments`.",
    ),
    "pipeline.java": ErrorSpec(
        PipelineError,
        "there is no Java of version 17 or newer, which Spark needs",
        "Install a JDK (Debian and Ubuntu: apt install openjdk-17-jre-headless), or name one in"
        " JAVA_HOME.",
    ),
    "pipeline.failed": ErrorSpec(
        PipelineFailure,
        "the pipeline stopped; what was committed is safe, and the rest waits in the inbox",
        "Mend what the message says and run it again; Spark's own messages are in `spark.log`.",
    ),
    # Subscription files, as the commands read them.
    "subscription-file.encoding": ErrorSpec(
        SubscriptionFileError,
        "a subscription file is not UTF-8",
        "Save the file as UTF-8.",
    ),
    "subscription-file.line": ErrorSpec(
        SubscriptionFileError,
        "a line of a subscription file is no subscription",
        "A line is an id, a tab, and a query; in a .jsonl file, an object with id and query.",
    ),
    "subscription-file.directive": ErrorSpec(
        SubscriptionFileError,
        "a directive of a subscription file is unknown or incomplete",
        "Write `@namespace PREFIX=URI`, `@default-namespace URI`, or `@kind keywords`.",
    ),
    "subscription-file.not-json": ErrorSpec(
        SubscriptionFileError,
        "a line of a .jsonl subscription file is not JSON",
        "Write one JSON object a line, or rename the file if it holds lines of text.",
    ),
}


def error(code: str, message: str, where: Where | None = None) -> PenstockError:
    """The error of ``code``, in the class the table names."""
    return ERRORS[code].cls(code, message, where=where)
