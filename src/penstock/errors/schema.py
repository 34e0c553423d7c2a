"""The errors of schemas."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, SchemaError

ERRORS: dict[str, ErrorSpec] = {
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
}
