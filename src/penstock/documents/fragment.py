"""Fragments: the parts of a document that a match returns.

A fragment is one or more ranges of the publisher's original bytes. Their meaning depends on the
document's encoding, the namespaces in scope and the declared entities. A fragment carries this
context, so it can be stored, sent and pickled without its document, and :meth:`Fragment.to_xml` can
convert it to a standalone piece of XML.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias
from xml.sax.saxutils import quoteattr

from penstock.documents.events import Name, Span, StartElement
from penstock.documents.limits import Limits
from penstock.documents.reading import PartReader, Summary
from penstock.documents.used_prefixes import used_prefixes
from penstock.documents.writing import write
from penstock.native import native

__all__ = ["WRAPPER_URI", "Context", "Fragment", "Kind"]

Kind: TypeAlias = Literal["element", "attribute", "text", "path", "content"]
"""The kind of a fragment. A *path* is an element with parts of its content omitted: the
concatenated ranges start with its start tag and end with its end tag. *Content* is a sequence of
sibling nodes: the original content of an element that a mapping inserted."""

WRAPPER_URI = "urn:penstock:fragment"
"""The namespace of the wrapper element ``fragment``, used for parts that are not an element."""

UNLIMITED = 1 << 62

CONTEXTS_CACHED_MAX = 4
"""Documents whose parsed declarations are kept for further fragments."""

START_TAG = re.compile(r"<([^\s/>]+)((?:[^\"'>]|\"[^\"]*\"|'[^']*')*?)/?>", re.DOTALL)
DECLARATION = re.compile(r"\sxmlns(?::([^\s=]+))?\s*=")
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
ENDS_IN_TEXT = re.compile(r"(?:[^\s>]|\]\]>)\Z")
BEGINS_WITH_TEXT = re.compile(r"[^\s<]|<!\[CDATA\[")
SEPARATOR = "<!---->"
"""Separates texts that are not adjacent in the document."""
DOCTYPE = re.compile(r"(?:[^\[\"']|\"[^\"]*\"|'[^']*')*+(?P<subset>\[.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Context:
    """The context that a document's fragments share."""

    encoding: str = "utf-8"
    doctype: str = ""
    """The document type declaration; empty if there is none."""

    entities: tuple[tuple[str, str], ...] = ()
    """Caller-supplied entities: names and plain text."""

    @classmethod
    def of(
        cls, content: bytes, summary: Summary, entities: Mapping[str, str] | None = None
    ) -> Context:
        """The context of a document; ``summary`` is the result of reading it."""
        doctype = ""
        if summary.doctype is not None:
            part = content[summary.doctype.start : summary.doctype.end]
            doctype = decoded(part, summary.encoding)
        return cls(summary.encoding, doctype, tuple(sorted((entities or {}).items())))

    def internal_subset(self) -> str:
        """The internal subset, from its bracket to the end of the declaration; may be empty."""
        declaration = DOCTYPE.match(self.doctype)
        return (declaration and declaration["subset"]) or ""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a document.

    >>> document = b'<a xmlns="urn:x"><b>1</b></a>'
    >>> part = Fragment.cut(document, "element", [Span(17, 25)], namespaces={"": "urn:x"})
    >>> part.pieces
    (b'<b>1</b>',)
    >>> part.to_xml()
    '<b xmlns="urn:x">1</b>'
    """

    kind: Kind
    spans: tuple[Span, ...]
    """Byte spans in the original."""

    pieces: tuple[bytes, ...]
    """The original bytes of each span, unchanged."""

    namespaces: tuple[tuple[str, str], ...] = ()
    """Prefixes and URIs in scope; the default namespace's prefix is empty."""

    context: Context = Context()
    name: Name | None = None
    """Name of an attribute; the span of a DTD default does not contain it."""

    @classmethod
    def cut(
        cls,
        content: bytes,
        kind: Kind,
        spans: Iterable[Span],
        *,
        namespaces: Mapping[str, str] | None = None,
        context: Context | None = None,
        name: Name | None = None,
    ) -> Fragment:
        """Cut a fragment out of a document."""
        where = tuple(spans)
        pieces = tuple(content[span.start : span.end] for span in where)
        bindings = tuple(sorted((namespaces or {}).items()))
        return cls(kind, where, pieces, bindings, context or Context(), name)

    @property
    def from_entity(self) -> bool:
        """Whether any part comes from an entity."""
        return any(span.from_entity for span in self.spans)

    def to_xml(self) -> str:
        """Convert to a well-formed, standalone piece of XML.

        An element or a path is returned with the namespace declarations it inherits and uses, also
        in values and text; in a path, an
        empty comment separates texts between which something was omitted. Any other fragment is
        wrapped in an element ``fragment`` of the namespace :data:`WRAPPER_URI`: text and several
        ranges become its content, an attribute becomes its attribute, and a part that comes from an
        entity becomes the expansion of the outermost reference. If the document has a document type
        declaration, or the caller supplied entities, references are expanded and defaulted
        attributes written out.
        """
        texts = [decoded(piece, self.context.encoding) for piece in self.pieces]
        if self.kind == "path":
            texts = [_concatenated(texts)]
        piece = self._declared(texts[0]) if self._stands_alone(texts) else self._wrapped(texts)
        if not self.context.doctype and not self.context.entities:
            return piece
        events = _declarations_of(self.context).reader.events(piece)
        if self._is_defaulted(texts):
            owner = next(e for e in events[1:] if isinstance(e, StartElement))
            kept = [a for a in owner.attributes if a.name == self.name]
            wrapper = events[0]
            assert isinstance(wrapper, StartElement), "a document begins with its root"
            alone = StartElement(wrapper.name, tuple(kept), wrapper.namespaces, wrapper.span)
            return write([alone, events[-1]])
        return write(events)

    def _stands_alone(self, texts: list[str]) -> bool:
        """Whether this is an element, not a reference whose expansion contains one."""
        if self.kind == "path":
            return texts[0].startswith("<")
        return self.kind == "element" and len(texts) == 1 and not self.from_entity

    def _declared(self, element: str) -> str:
        """The element with its inherited namespace declarations."""
        if not self.namespaces:
            return element
        tag = START_TAG.match(element)
        assert tag is not None, "an element begins with its start tag"
        own = {found or "" for found in DECLARATION.findall(QUOTED.sub("''", tag[2]))}
        inherited = self._declarations([element], without=own)
        return f"<{tag[1]}{inherited}{element[tag.end(1) :]}"

    def _declarations(self, texts: Iterable[str], without: Iterable[str] = ()) -> str:
        """The declarations of the prefixes that the texts use."""
        used = {""}
        prefixes = [prefix for prefix, _ in self.namespaces if prefix]
        for text in texts:
            # Searching a text for names takes twenty times as long.
            if any(f"{prefix}:" in text or f":{prefix}" in text for prefix in prefixes):
                used |= used_prefixes(text)
        if self.context.doctype:
            used |= _declarations_of(self.context).prefixes
        used.difference_update(without)
        return "".join(
            f" xmlns{':' if prefix else ''}{prefix}={quoteattr(uri)}"
            for prefix, uri in self.namespaces
            if prefix in used
        )

    def _is_defaulted(self, texts: list[str]) -> bool:
        """Whether this is a DTD default, whose span is the start tag."""
        return self.kind == "attribute" and texts[0].startswith("<")

    def _wrapped(self, texts: list[str]) -> str:
        """Puts the pieces inside the wrapper, or an attribute on it."""
        taken = {prefix for prefix, _ in self.namespaces}
        prefix = next(p for p in ("ps", *(f"ps{n}" for n in range(len(taken)))) if p not in taken)
        name = f"{prefix}:fragment"
        opening = f"{name} xmlns:{prefix}={quoteattr(WRAPPER_URI)}{self._declarations(texts)}"
        if self._is_defaulted(texts):
            tag = START_TAG.match(texts[0])
            assert tag is not None, "the range of a defaulted attribute is a start tag"
            element = texts[0] if texts[0].endswith("/>") else f"{texts[0]}</{tag[1]}>"
            return f"<{opening}>{element}</{name}>"
        if self.kind == "attribute" and not self.from_entity:
            return f"<{opening} {texts[0]}/>"
        return f"<{opening}>{''.join(texts)}</{name}>"


class _Declarations(NamedTuple):
    """The declarations of a document, for its fragments."""

    reader: PartReader
    prefixes: frozenset[str]
    """The namespace prefixes that they use."""


@lru_cache(maxsize=CONTEXTS_CACHED_MAX)
def _declarations_of(context: Context) -> _Declarations:
    """The declarations, which are parsed once for all fragments of a document."""
    subset = context.internal_subset()
    # The document met the limits; the ratio of a short fragment may be worse.
    limits = Limits(entity_amplification=UNLIMITED, doctype_bytes=UNLIMITED)
    doctype = f"<!DOCTYPE fragment {subset}" if subset else ""
    reader = PartReader(doctype, limits, dict(context.entities))
    return _Declarations(reader, frozenset(used_prefixes(subset)))


def _concatenated(texts: list[str]) -> str:
    """Concatenates the pieces of a path, separating texts so that no new words arise."""
    parts = texts[:1]
    for before, after in itertools.pairwise(texts):
        if ENDS_IN_TEXT.search(before) and BEGINS_WITH_TEXT.match(after):
            parts.append(SEPARATOR)
        parts.append(after)
    return "".join(parts)


def decoded(part: bytes, encoding: str) -> str:
    """Decodes a part of a document."""
    if native is None:
        return part.decode(encoding)
    text = native.decode(part, encoding)
    assert text is not None, "parts of a document that was read can be decoded"
    return text
