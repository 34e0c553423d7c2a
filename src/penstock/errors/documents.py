"""The errors of documents, and of the archives and records they come in."""

from __future__ import annotations

from penstock.errors.classes import DocumentError, ErrorSpec, QueryError

ERRORS: dict[str, ErrorSpec] = {
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
}
