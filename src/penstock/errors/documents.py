"""Errors in documents, and in the archives and record files that contain them."""

from __future__ import annotations

from penstock.errors.classes import DocumentError, ErrorSpec, QueryError

ERRORS: dict[str, ErrorSpec] = {
    "internal.error": ErrorSpec(
        DocumentError,
        "processing the document failed unexpectedly: a defect of Penstock, not of the document",
        "Send the maintainers the report, which `penstock dead-letters show NUMBER --report` and"
        " `--json` print without the document's content, or `penstock router dead-letters --json`."
        " Replay the dead letter after an update.",
    ),
    "internal.worker": ErrorSpec(
        DocumentError,
        "processing the document ended a worker process twice, by a crash or for lack of memory",
        "Send the maintainers the report, which `penstock dead-letters show NUMBER --report` prints"
        " without the document's content, or `penstock router dead-letters --json`. If memory was"
        " short, give the process more and replay it.",
    ),
    "xml.character": ErrorSpec(
        DocumentError,
        "the document contains a character that XML does not allow",
        "Remove it: control characters cannot be written even as character references.",
    ),
    "xml.name": ErrorSpec(
        DocumentError,
        "a name is not a valid XML name",
        "A name begins with a letter or `_` and contains no spaces.",
    ),
    "xml.tag": ErrorSpec(
        DocumentError,
        "the document contains markup that is not a tag, comment, CDATA section or processing"
        " instruction",
        "Write a literal `<` as `&lt;`.",
    ),
    "xml.attribute": ErrorSpec(
        DocumentError,
        "an attribute is malformed",
        'Write `name="value"`, and a `<` in the value as `&lt;`.',
    ),
    "xml.attribute-twice": ErrorSpec(
        DocumentError,
        "an element has the same attribute twice",
        "Remove one of them.",
    ),
    "xml.end-tag": ErrorSpec(
        DocumentError,
        "an end tag does not match the open element",
        "Close elements in the reverse order of opening them.",
    ),
    "xml.unclosed": ErrorSpec(
        DocumentError,
        "the document ends prematurely",
        "It may have been truncated in transit: compare its length with the original.",
    ),
    "xml.root": ErrorSpec(
        DocumentError,
        "the document does not have exactly one root element, or has text outside it",
        "Wrap the content in a single element.",
    ),
    "xml.text": ErrorSpec(
        DocumentError,
        "text contains `]]>`",
        "Write it as `]]&gt;`.",
    ),
    "xml.comment": ErrorSpec(
        DocumentError,
        "a comment contains `--`",
        "Insert a space between the hyphens.",
    ),
    "xml.instruction": ErrorSpec(
        DocumentError,
        "a processing instruction is malformed",
        "Its target must not be `xml`, in any capitalization.",
    ),
    "xml.declaration": ErrorSpec(
        DocumentError,
        "the XML declaration is malformed, or not at the beginning of the document",
        'Begin the document with `<?xml version="1.0"?>`; nothing may precede it.',
    ),
    "xml.reference": ErrorSpec(
        DocumentError,
        "a character or entity reference is malformed",
        "Write a literal `&` as `&amp;`.",
    ),
    "xml.doctype": ErrorSpec(
        DocumentError,
        "the document type declaration is malformed",
        "See the position; external declarations are never read.",
    ),
    "encoding.unknown": ErrorSpec(
        DocumentError,
        "the document's encoding is unknown or not supported",
        "Publish the document in UTF-8.",
    ),
    "encoding.bytes": ErrorSpec(
        DocumentError,
        "the document contains bytes that are invalid in its encoding",
        "Declare the encoding that the document really uses.",
    ),
    "encoding.mismatch": ErrorSpec(
        DocumentError,
        "the declared encoding is not the one that the document uses",
        "Declare the encoding that the document really uses, or none for UTF-8.",
    ),
    "entity.undeclared": ErrorSpec(
        DocumentError,
        "the document refers to an undeclared entity",
        "Declare it inside the document, or pass it in `entities`.",
    ),
    "entity.external": ErrorSpec(
        DocumentError,
        "the document refers to an external entity",
        "External entities are never read: include their text in the document.",
    ),
    "entity.unparsed": ErrorSpec(
        DocumentError,
        "the document refers to an unparsed entity",
        "Name it in an attribute of type ENTITY instead.",
    ),
    "entity.recursive": ErrorSpec(
        DocumentError,
        "an entity contains itself",
        "Break the cycle in the declarations.",
    ),
    "entity.unbalanced": ErrorSpec(
        DocumentError,
        "an entity contains a start tag without its end tag, or an end tag without its start tag",
        "Put both tags into the entity.",
    ),
    "entity.doctype-refused": ErrorSpec(
        DocumentError,
        "the document has a document type declaration, and the reader refuses these",
        'Remove it, or read with `declarations="honour"`.',
    ),
    "namespace.prefix": ErrorSpec(
        DocumentError,
        "the document uses an undeclared namespace prefix",
        'Declare it: `xmlns:p="..."` on the element or an ancestor.',
    ),
    "namespace.reserved": ErrorSpec(
        DocumentError,
        "the document misuses `xml`, `xmlns` or their namespaces",
        "Use other prefixes for your namespaces.",
    ),
    "namespace.colon": ErrorSpec(
        DocumentError,
        "a name contains a colon where none is allowed",
        "Use one colon, between prefix and name; targets and entity names have none.",
    ),
    "namespace.empty": ErrorSpec(
        DocumentError,
        "a prefix is bound to an empty namespace",
        'Only the default namespace can be undeclared: `xmlns=""`.',
    ),
    "namespace.attribute-twice": ErrorSpec(
        DocumentError,
        "an element has two attributes with the same expanded name",
        "Remove one of them: their prefixes denote the same namespace.",
    ),
    "limit.document-bytes": ErrorSpec(
        DocumentError,
        "the document is larger than the limit",
        "If the publisher is trusted, raise `Limits(document_bytes=...)`.",
    ),
    "limit.depth": ErrorSpec(
        DocumentError,
        "elements are nested deeper than the limit",
        "If the publisher is trusted, raise `Limits(depth=...)`.",
    ),
    "limit.attributes": ErrorSpec(
        DocumentError,
        "an element has more attributes than the limit",
        "If the publisher is trusted, raise `Limits(attributes=...)`.",
    ),
    "limit.name-bytes": ErrorSpec(
        DocumentError,
        "a name is longer than the limit",
        "If the publisher is trusted, raise `Limits(name_bytes=...)`.",
    ),
    "limit.value-bytes": ErrorSpec(
        DocumentError,
        "an attribute value is longer than the limit",
        "If the publisher is trusted, raise `Limits(value_bytes=...)`.",
    ),
    "limit.tag-bytes": ErrorSpec(
        DocumentError,
        "a tag is longer than the limit",
        "If the publisher is trusted, raise `Limits(tag_bytes=...)`.",
    ),
    "limit.xml-declaration-bytes": ErrorSpec(
        DocumentError,
        "the XML declaration is longer than the limit",
        "Remove the white space in it; if the publisher is trusted, raise"
        " `Limits(xml_declaration_bytes=...)`.",
    ),
    "limit.doctype-bytes": ErrorSpec(
        DocumentError,
        "the document type declaration is longer than the limit",
        "If the publisher is trusted, raise `Limits(doctype_bytes=...)`.",
    ),
    "limit.declarations": ErrorSpec(
        DocumentError,
        "the document type declaration has more declarations than the limit",
        "If the publisher is trusted, raise `Limits(declarations=...)`.",
    ),
    "limit.entity-bytes": ErrorSpec(
        DocumentError,
        "entities expand to more bytes than the limit",
        "If the publisher is trusted, raise `Limits(entity_bytes=...)`.",
    ),
    "limit.entity-depth": ErrorSpec(
        DocumentError,
        "entities are nested deeper than the limit",
        "If the publisher is trusted, raise `Limits(entity_depth=...)`.",
    ),
    "limit.entity-amplification": ErrorSpec(
        DocumentError,
        "entities, or the namespaces that records inherit, expand the document by a larger factor"
        " than the limit",
        "If the publisher is trusted, raise `Limits(entity_amplification=...)`.",
    ),
    "limit.work": ErrorSpec(
        DocumentError,
        "the work budget of the document is spent: the most expensive subscriptions were set aside,"
        " and whether they match is unknown",
        "Simplify the subscriptions that the message names, or raise `Limits(work=...)`.",
    ),
    "limit.names-bytes": ErrorSpec(
        DocumentError,
        "the document has more distinct names than the limit",
        "If the publisher is trusted, raise `Limits(names_bytes=...)`.",
    ),
    "limit.namespaces": ErrorSpec(
        DocumentError,
        "more namespace prefixes are in scope than the limit",
        "If the publisher is trusted, raise `Limits(namespaces=...)`.",
    ),
    "records.from-entity": ErrorSpec(
        DocumentError,
        "an element on the path to the records comes from an entity",
        "Expand the entity before publishing: a record must be a byte range of the file.",
    ),
    "records.path": ErrorSpec(
        QueryError,
        "the path to the records is not a plain path of elements from the root",
        "Write names or `*` separated by single slashes, such as `/feed/entry`, without"
        " predicates.",
    ),
    "archive.damaged": ErrorSpec(
        DocumentError,
        "an archive or a compressed file is damaged",
        "It may have been truncated in transit: compare its length, and send it again.",
    ),
    "archive.bytes": ErrorSpec(
        DocumentError,
        "an archive, a compressed file or a member expands to more bytes than the limit",
        "Publish it in parts, or raise the limit.",
    ),
    "archive.ratio": ErrorSpec(
        DocumentError,
        "an archive or a compressed file expands by a larger factor than the limit",
        "It may be a decompression bomb; if it is not, raise the limit.",
    ),
    "archive.members": ErrorSpec(
        DocumentError,
        "an archive has more members than the limit",
        "Publish it in parts, or raise the limit.",
    ),
    "archive.sparse": ErrorSpec(
        DocumentError,
        "a member of an archive is a sparse file",
        "Its holes would be zero bytes, which XML does not allow: check the file, and pack it"
        " without `--sparse`.",
    ),
    "archive.encrypted": ErrorSpec(
        DocumentError,
        "a member of an archive is encrypted",
        "Publish it unencrypted.",
    ),
    "limit.record-bytes": ErrorSpec(
        DocumentError,
        "a record is larger than the limit",
        "Choose a path to smaller elements, or raise the limit `record_bytes`.",
    ),
}
