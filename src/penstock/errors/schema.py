"""Errors in schemas."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, SchemaError

ERRORS: dict[str, ErrorSpec] = {
    "schema.syntax": ErrorSpec(
        SchemaError,
        "the DTD is malformed",
        "See the position; parameter entities are expanded first.",
    ),
    "schema.entity": ErrorSpec(
        SchemaError,
        "an entity is undeclared or contains itself",
        "Declare the entity before its first use, and without reference to itself.",
    ),
    "schema.external": ErrorSpec(
        SchemaError,
        "the DTD uses an external parameter entity",
        "External entities are never loaded: include their declarations in the DTD.",
    ),
    "schema.limit": ErrorSpec(
        SchemaError,
        "the DTD or XSD exceeds a limit",
        "Simplify it, or divide it; if a DTD is trusted, pass `limits=DtdLimits(...)` with a higher"
        " limit.",
    ),
    "schema.duplicate": ErrorSpec(
        SchemaError,
        "an element is declared twice",
        "Remove one of the declarations.",
    ),
    "schema.undeclared": ErrorSpec(
        SchemaError,
        "a content model names an undeclared element",
        "Declare the element, or remove it from the content model.",
    ),
    "schema.root": ErrorSpec(
        SchemaError,
        "there is no possible root element, there are several, or the given root is not declared",
        "Name the root with `roots=[...]`, or on the command line with `penstock schema show FILE"
        " --root ELEMENT`, which prints a schema file that every command accepts.",
    ),
    "schema.endless": ErrorSpec(
        SchemaError,
        "an element requires infinite content",
        "Make the recursion optional with `?` or `*`.",
    ),
    "schema.namespace": ErrorSpec(
        SchemaError,
        "a prefix has no URI, or two labels name the same element",
        "Pass `namespaces={prefix: uri}` with one prefix for each URI.",
    ),
    "schema.encoding": ErrorSpec(
        SchemaError,
        "the bytes of the DTD cannot be decoded",
        "Write DTDs in UTF-8, UTF-16, US-ASCII or ISO-8859-1, and declare the encoding.",
    ),
    "schema.xsd": ErrorSpec(
        SchemaError,
        "the XSD is invalid, or includes a file that may not be read",
        "Fix what the message names; included files must be in the folder of the XSD or below it:"
        " nothing else is loaded.",
    ),
    "schema.samples": ErrorSpec(
        SchemaError,
        "no schema can be inferred from the samples",
        "Use documents of one schema with a single root, or name the root.",
    ),
    "schema.file": ErrorSpec(
        SchemaError,
        "a schema file is malformed",
        "Begin with `penstock schema 1`, followed by one node per line, indented by two spaces"
        " below its parent.",
    ),
    "schema.domain": ErrorSpec(
        SchemaError,
        "a global schema has no domain, or an invalid domain name",
        "Write `domain NAME version 1` above the root; a name consists of letters, digits, `-`,"
        " `_` and `.`.",
    ),
}
