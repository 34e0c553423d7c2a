"""The reference reader: simple rather than fast.

Expat checks well-formedness and parses the document type declaration. The rest works on the text: a
regular expression splits it into tokens, entities are expanded in place, and namespaces are looked
up in a dictionary. The document is held in memory. Supported encodings are Expat's: UTF-8, UTF-16,
US-ASCII, ISO-8859-1 and Python's single-byte encodings. Names follow XML 1.0's fourth edition, as
in Expat.

It is the oracle of the tests, and the fallback where the native core is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.documents.events import (
    Attribute,
    EndElement,
    Event,
    Span,
    StartElement,
    Text,
    TextBreak,
    joined,
)
from penstock.documents.limits import Limits
from penstock.documents.reference.element_path import element_path
from penstock.documents.reference.namespace_scope import Scope
from penstock.documents.reference.source_text import OriginalText, original_text
from penstock.documents.reference.well_formedness import Declared, check
from penstock.errors import DocumentError, PenstockError, Where, error

__all__ = ["Reading", "read"]

AMPLIFICATION_FREE_BYTES = 64 << 10
"""Bytes of expansions that the limit ``entity_amplification`` ignores."""

MARKUP_BYTES = 4
"""Bytes of a default attribute besides its name and value: space, equals sign and quotes."""

PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

TOKEN = re.compile(
    r"""
    (?P<comment> <!--.*?--> )
    | (?P<instruction> <\?.*?\?> )
    | <!\[CDATA\[ (?P<cdata> .*? ) \]\]>
    | </ (?P<end> [^\s>]+ ) \s* >
    | < (?P<start> [^\s/>]+ ) (?P<attributes> (?: [^"'>] | "[^"]*" | '[^']*' )*? ) (?P<empty> /? ) >
    | & (?P<reference> [^;]+ ) ;
    | (?P<text> [^<&]+ )
    """,
    re.VERBOSE | re.DOTALL,
)

ATTRIBUTE = re.compile(r"""(?P<name>[^\s=]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')""")


@dataclass(frozen=True, slots=True)
class Reading:
    """A completely read document."""

    events: list[Event]
    size: int
    encoding: str
    doctype: Span | None

    def amounts(self) -> tuple[int, int, int, str, Span | None]:
        """Elements, attributes, bytes, encoding and document type declaration."""
        starts = [event for event in self.events if isinstance(event, StartElement)]
        attributes = sum(len(start.attributes) for start in starts)
        return len(starts), attributes, self.size, self.encoding, self.doctype


def read(
    source: bytes | Iterable[bytes],
    limits: Limits,
    entities: Mapping[str, str],
    refuse_declarations: bool,
) -> Reading:
    """Read a document; raises the error of a refused one."""
    content = source if isinstance(source, bytes) else b"".join(source)
    if len(content) > limits.document_bytes:
        raise error(
            "limit.document-bytes",
            f"the document is longer than {limits.document_bytes} bytes",
            Where(limits.document_bytes, 1, 1),
        )
    text = original_text(content)
    declared = check(content, text, limits, entities)
    if declared.doctype and refuse_declarations:
        message = "document type declarations are not allowed"
        raise error("entity.doctype-refused", message, text.where(declared.doctype[0]))
    doctype = declared.doctype and text.span(*declared.doctype)
    events = list(joined(_EventGenerator(text, declared, limits, entities).events()))
    return Reading(events, len(content), text.encoding, doctype)


class _EventGenerator:
    """Generates the events of a document that Expat found well-formed."""

    def __init__(
        self,
        text: OriginalText,
        declared: Declared,
        limits: Limits,
        entities: Mapping[str, str],
    ) -> None:
        self.text = text
        self.declared = declared
        self.limits = limits
        self.entities = entities
        self.scope = Scope()
        self.open: list[tuple[int, str]] = []  # start and name of each open element's start tag
        self.at = 0  # position for errors
        self.expanded_bytes = 0
        self.entity_depth = 0

    def events(self) -> Iterator[Event]:
        """The events of the root element."""
        return self.content(self.text.text[: self.declared.root_end], self.declared.root, None)

    def refusal(self, code: str, message: str) -> PenstockError:
        path = element_path([name for _, name in self.open])
        return DocumentError(code, message, where=self.text.where(self.at), path=path)

    def charge(self, size: int) -> None:
        """Counts bytes of expansions against the limits."""
        self.expanded_bytes += size
        if self.expanded_bytes > self.limits.entity_bytes:
            message = f"the entities expand to more than {self.limits.entity_bytes} bytes"
            raise self.refusal("limit.entity-bytes", message)
        counted = self.expanded_bytes - AMPLIFICATION_FREE_BYTES
        times = self.limits.entity_amplification
        if counted > self.text.offsets[self.at] * times:
            message = (
                f"the entities expand to more than {times} times the size of the document so far"
            )
            raise self.refusal("limit.entity-amplification", message)

    @contextmanager
    def entity(self, name: str) -> Iterator[str]:
        """The replacement text of a declared entity, which is open while it is used."""
        if self.entity_depth == self.limits.entity_depth:
            message = f"entities are nested deeper than {self.limits.entity_depth}"
            raise self.refusal("limit.entity-depth", message)
        text = self.declared.entities[name]
        self.charge(len(text.encode()))
        self.entity_depth += 1
        yield text
        self.entity_depth -= 1

    def content(self, text: str, start: int, reference: Span | None) -> Iterator[Event]:
        """The events of ``text`` from ``start`` on; ``reference`` is the span it was expanded
        from."""
        for token in TOKEN.finditer(text, start):
            if reference is None:
                self.at = token.start()
            span = reference or self.text.span(*token.span())
            if token["start"]:
                yield from self.start_tag(token, span, reference is not None)
            elif token["end"]:
                yield self.end_tag(reference, token.end())
            elif token["text"] or token["cdata"]:
                yield Text(_normalised(token["text"] or token["cdata"], reference), span)
            elif token["reference"]:
                yield from self.reference(token["reference"], span, reference)
            elif token["comment"] or token["instruction"]:
                yield TextBreak()

    def end_tag(self, reference: Span | None, end: int) -> EndElement:
        self.scope.leave()
        start, _ = self.open.pop()
        return EndElement(reference or self.text.span(start, end))

    def start_tag(self, token: re.Match[str], span: Span, in_entity: bool) -> Iterator[Event]:
        if len(self.open) == self.limits.depth:
            raise self.refusal(
                "limit.depth", f"elements are nested deeper than {self.limits.depth}"
            )
        given = [
            (
                part["name"],
                self.value(token["start"], part, in_entity),
                span
                if in_entity
                else self.text.span(
                    token.start("attributes") + part.start(), token.start("attributes") + part.end()
                ),
            )
            for part in ATTRIBUTE.finditer(token["attributes"])
        ]
        names = {own for own, _, _ in given}
        for own, default in self.declared.defaults(token["start"]).items():
            if own not in names:
                given.append((own, default, span))
                self.charge(len(f"{own}{default}".encode()) + MARKUP_BYTES)
            if len(given) > self.limits.attributes:
                break
        if len(given) > self.limits.attributes:
            message = f"an element has more than {self.limits.attributes} attributes"
            raise self.refusal("limit.attributes", message)
        try:
            self.scope.enter({own: value for own, value, _ in given})
            if len(self.scope.bindings()) > self.limits.namespaces:
                message = f"more than {self.limits.namespaces} namespace prefixes are in scope"
                raise self.refusal("limit.namespaces", message)
            name = self.scope.element(token["start"])
            attributes = tuple(
                Attribute(self.scope.attribute(own), value, where)
                for own, value, where in given
                if not self.scope.is_declaration(own)
            )
        except PenstockError as problem:
            raise self.refusal(problem.code, problem.message) from None
        if len({attribute.name for attribute in attributes}) < len(attributes):
            message = "two attributes have the same expanded name"
            raise self.refusal("namespace.attribute-twice", message)
        yield StartElement(name, attributes, self.scope.bindings(), span)
        self.open.append((token.start(), token["start"]))
        if token["empty"]:
            yield self.end_tag(span if in_entity else None, token.end())

    def value(self, element: str, part: re.Match[str], in_entity: bool) -> str:
        written = part["double"] if part["double"] is not None else part["single"]
        value = self.expanded(written if in_entity else _normalised(written, None))
        if self.declared.is_tokens(element, part["name"]):
            value = " ".join(word for word in value.split(" ") if word)
        if len(value.encode()) > self.limits.value_bytes:
            message = f"an attribute value is longer than {self.limits.value_bytes} bytes"
            raise self.refusal("limit.value-bytes", message)
        return value

    def expanded(self, written: str) -> str:
        """Normalises an attribute value: white space to spaces, references expanded."""
        parts = re.split(r"&([^;]+);", written)
        for at, part in enumerate(parts):
            if at % 2 == 0:
                parts[at] = re.sub(r"[\t\n\r]", " ", part)
            elif (character := _character(part)) is not None:
                parts[at] = character
            elif part in self.declared.entities:
                with self.entity(part) as text:
                    parts[at] = self.expanded(text)
            else:
                self.charge(len(self.entities[part].encode()))
                parts[at] = self.entities[part]
        return "".join(parts)

    def reference(self, name: str, span: Span, outermost: Span | None) -> Iterator[Event]:
        character = _character(name)
        if character is not None:
            yield Text(character, span)
            return
        span = outermost or span._replace(from_entity=True)
        if name in self.declared.entities:
            with self.entity(name) as text:
                yield from self.content(text, 0, span)
        elif self.entities[name]:
            self.charge(len(self.entities[name].encode()))
            yield Text(self.entities[name], span)


def _character(reference: str) -> str | None:
    """The character of a character reference; ``None`` for an entity reference."""
    if reference.startswith("#x"):
        return chr(int(reference[2:], 16))
    if reference.startswith("#"):
        return chr(int(reference[1:]))
    return PREDEFINED.get(reference)


def _normalised(text: str, reference: Span | None) -> str:
    """Normalises line ends in the document, but not in entity expansions."""
    return re.sub(r"\r\n?", "\n", text) if reference is None else text
