"""Checks well-formedness with Expat and collects the declarations."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from xml.parsers import expat
from xml.sax.saxutils import escape

from penstock.documents.limits import Limits
from penstock.documents.reference.element_path import element_path
from penstock.documents.reference.namespace_scope import split
from penstock.documents.reference.source_text import OriginalText
from penstock.errors import DocumentError, PenstockError, Where, error

ContentModel: TypeAlias = "tuple[int, int, str | None, tuple[ContentModel, ...]]"
"""Expat's content model: type, quantifier, name, and the models inside it."""

__all__ = ["Declared", "check"]

CODES = {
    expat.errors.XML_ERROR_NO_ELEMENTS: "xml.root",
    expat.errors.XML_ERROR_UNCLOSED_TOKEN: "xml.unclosed",
    expat.errors.XML_ERROR_PARTIAL_CHAR: "encoding.bytes",
    expat.errors.XML_ERROR_TAG_MISMATCH: "xml.end-tag",
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "xml.attribute-twice",
    expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "xml.root",
    expat.errors.XML_ERROR_PARAM_ENTITY_REF: "xml.doctype",
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "entity.undeclared",
    expat.errors.XML_ERROR_RECURSIVE_ENTITY_REF: "entity.recursive",
    expat.errors.XML_ERROR_ASYNC_ENTITY: "entity.unbalanced",
    expat.errors.XML_ERROR_BAD_CHAR_REF: "xml.character",
    expat.errors.XML_ERROR_BINARY_ENTITY_REF: "entity.unparsed",
    expat.errors.XML_ERROR_ATTRIBUTE_EXTERNAL_ENTITY_REF: "entity.external",
    expat.errors.XML_ERROR_MISPLACED_XML_PI: "xml.declaration",
    expat.errors.XML_ERROR_UNKNOWN_ENCODING: "encoding.unknown",
    expat.errors.XML_ERROR_INCORRECT_ENCODING: "encoding.mismatch",
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION: "xml.unclosed",
    expat.errors.XML_ERROR_INCOMPLETE_PE: "xml.doctype",
    expat.errors.XML_ERROR_ENTITY_DECLARED_IN_PE: "entity.undeclared",
    expat.errors.XML_ERROR_XML_DECL: "xml.declaration",
    expat.errors.XML_ERROR_PUBLICID: "xml.doctype",
    "limit on input amplification factor (from DTD and entities) breached": (
        "limit.entity-amplification"
    ),
}
"""Error codes of Expat's errors; the default is ``xml.tag``."""

XML_DECLARATION = re.compile(r"<\?xml\s.*?(?:\?>|\Z)", re.DOTALL)


@dataclass(slots=True)
class AttributeRules:
    """The attribute declarations of an element."""

    types: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Declared:
    """The declarations of a document, and the positions of its parts."""

    entities: dict[str, str] = field(default_factory=dict)
    """Internal general entities: names and replacement texts."""

    attributes: dict[str, AttributeRules] = field(default_factory=dict)
    """Attribute declarations by element."""

    doctype: tuple[int, int] | None = None
    """Start and end of the document type declaration in the text."""

    root: int = 0
    """Start of the root element."""

    root_end: int = 0
    """End of the root element."""

    def defaults(self, element: str) -> Mapping[str, str]:
        """The default attributes of ``element``."""
        rules = self.attributes.get(element)
        return {} if rules is None else rules.defaults

    def is_tokens(self, element: str, attribute: str) -> bool:
        """Whether white space in this attribute is collapsed."""
        rules = self.attributes.get(element)
        return rules is not None and rules.types.get(attribute, "CDATA") != "CDATA"


def check(
    content: bytes, text: OriginalText, limits: Limits, entities: Mapping[str, str]
) -> Declared:
    """Parse the document with Expat and return its declarations; raises the error of a refusal."""
    declaration = XML_DECLARATION.match(text.text)
    if declaration and len(declaration[0].encode()) > limits.xml_declaration_bytes:
        message = f"the XML declaration is longer than {limits.xml_declaration_bytes} bytes"
        raise error("limit.xml-declaration-bytes", message, text.where(0))
    parser = expat.ParserCreate(text.encoding if text.encoding.startswith("utf-16") else None)
    handler = _ExpatHandler(parser, text, limits, entities)
    try:
        parser.Parse(content, True)
    except DocumentError as problem:  # of a handler
        problem.path = element_path(handler.open)
        raise
    except expat.ExpatError as problem:
        message = expat.ErrorString(problem.code)
        where = Where(parser.ErrorByteIndex, problem.lineno, problem.offset + 1)
        path = element_path(handler.open)
        if handler.open and message == expat.errors.XML_ERROR_NO_ELEMENTS:
            # Expat reports this for any premature end, even inside an element.
            message = "the text ends inside an element"
            raise DocumentError("xml.unclosed", message, where=where, path=path) from None
        code = CODES.get(message, "xml.tag")
        raise DocumentError(code, message, where=where, path=path) from None
    declared = handler.declared
    if declared.doctype and declared.doctype[1] - declared.doctype[0] > limits.doctype_bytes:
        message = f"the document type declaration is longer than {limits.doctype_bytes} bytes"
        raise error("limit.doctype-bytes", message, text.where(declared.doctype[0]))
    return declared


class _ExpatHandler:
    """Handles Expat's callbacks."""

    def __init__(
        self,
        parser: expat.XMLParserType,
        text: OriginalText,
        limits: Limits,
        entities: Mapping[str, str],
    ) -> None:
        self.parser = parser
        self.text = text
        self.limits = limits
        self.entities = entities
        self.declared = Declared()
        self.declarations = 0
        self.open: list[str] = []  # names of the open elements
        self.doctype_start = 0
        self.is_supplying = False
        self.external_subset: str | None = None
        # The caller's entities are declared by a pretended external subset.
        parser.UseForeignDTD(bool(entities))
        # Requests all external content, in order to refuse it.
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
        parser.ExternalEntityRefHandler = self.external
        parser.SkippedEntityHandler = self.skipped
        parser.XmlDeclHandler = self.xml_declaration
        parser.EntityDeclHandler = self.entity
        parser.AttlistDeclHandler = self.attribute
        parser.ElementDeclHandler = self.element
        parser.NotationDeclHandler = self.notation
        parser.ProcessingInstructionHandler = self.instruction
        parser.StartDoctypeDeclHandler = self.start_doctype
        parser.EndDoctypeDeclHandler = self.end_doctype
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end

    def here(self) -> int:
        """Expat's current position in the text."""
        return bisect_left(self.text.offsets, self.parser.CurrentByteIndex)

    def external(
        self, context: str | None, _base: str | None, system: str | None, _public: str | None
    ) -> int:
        if context is None and system is None:
            self.is_supplying = True
            subset = self.parser.ExternalEntityParserCreate(context)
            for name, value in self.entities.items():
                quoted = escape(value, {'"': "&#34;", "%": "&#37;"})
                subset.Parse(f'<!ENTITY {name} "{quoted}">')
            subset.Parse("", True)
            self.is_supplying = False
            return 1
        if context is None and system == self.external_subset:
            return 1  # Never read: references to what it would declare fail.
        message = "an external entity is referred to, and external entities are never read"
        raise error("entity.external", message, self.text.where(self.here()))

    def skipped(self, name: str, is_parameter: bool) -> None:
        code = "entity.external" if is_parameter else "entity.undeclared"
        message = f"the entity {name} is outside the document, or its declaration is"
        raise error(code, message, self.text.where(self.here()))

    def xml_declaration(self, version: str, _encoding: str | None, _standalone: int) -> None:
        # Expat accepts any version.
        if not re.fullmatch(r"1\.[0-9]+", version):
            raise error("xml.declaration", f"{version!r} is not a version of XML 1", Where(0, 1, 1))

    def entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        _base: str | None,
        _system: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        self.count_declaration()
        self.unprefixed(name)
        if not is_parameter and value is not None and not self.is_supplying:
            self.declared.entities.setdefault(name, value)

    def attribute(
        self, element: str, name: str, kind: str, default: str | None, _required: bool
    ) -> None:
        self.count_declaration()
        self.qualified(element)
        self.qualified(name)
        rules = self.declared.attributes.setdefault(element, AttributeRules())
        if name not in rules.types:
            rules.types[name] = kind
            if default is not None:
                rules.defaults[name] = default

    def element(self, name: str, model: ContentModel) -> None:
        self.count_declaration()
        self.qualified(name)
        models = [model]
        while models:
            _, _, child, inner = models.pop()
            if child is not None:
                self.qualified(child)
            models.extend(inner)

    def notation(self, name: str, *_: object) -> None:
        self.count_declaration()
        self.unprefixed(name)

    def instruction(self, target: str, _data: str) -> None:
        self.unprefixed(target)

    def count_declaration(self) -> None:
        if self.is_supplying:
            return
        self.declarations += 1
        if self.declarations > self.limits.declarations:
            message = f"the document type has more than {self.limits.declarations} declarations"
            raise error("limit.declarations", message, self.text.where(self.here()))

    def unprefixed(self, name: str) -> None:
        """Refuses names with a colon; Expat is not namespace-aware."""
        if ":" in name:
            message = f"{name} must not contain a colon"
            raise error("namespace.colon", message, self.text.where(self.here()))

    def qualified(self, name: str) -> None:
        """Refuses a colon that does not separate a prefix from a local name."""
        try:
            split(name)
        except PenstockError as problem:
            raise error(problem.code, problem.message, self.text.where(self.here())) from None

    def start_doctype(
        self, name: str, system: str | None, _public: str | None, _has_subset: bool
    ) -> None:
        self.qualified(name)
        self.external_subset = system
        # Expat is already past the name.
        self.doctype_start = self.text.text.rindex("<!DOCTYPE", 0, self.here())

    def end_doctype(self) -> None:
        end = self.text.text.index(">", self.here()) + 1
        self.declared.doctype = (self.doctype_start, end)

    def start(self, name: str, _attributes: object) -> None:
        if not self.open:
            self.declared.root = self.here()
        self.open.append(name)

    def end(self, _name: str) -> None:
        self.open.pop()
        if not self.open:
            here = self.here()
            # After an empty-element tag, Expat is already past it.
            at_end_tag = self.text.text.startswith("</", here)
            self.declared.root_end = self.text.text.index(">", here) + 1 if at_end_tag else here
