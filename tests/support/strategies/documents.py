"""Documents for property tests: small alphabets, so that generated queries often match.

They use all that XML allows: prefixes declared, shadowed and
undeclared, references in text and attributes, entities with markup, defaults from the internal
subset, text cut by comments and processing instructions, CDATA, odd white space, several encodings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

ELEMENT_NAMES: Final = ("a", "b", "c", "d")
ATTRIBUTE_NAMES: Final = ("id", "lang", "n")
NAMESPACE_URIS: Final = ("urn:x", "urn:y")
VALUES: Final = ("1", "2", "10", "2.5", "-1", " 10 ", "en", "en-GB", "x", "xy", "é", "")
"""Attribute values and texts, which queries compare with."""

_PREFIXES: Final = ("", "p", "q")
_CHILDREN_MAX: Final = 4
_ATTRIBUTES_MAX: Final = 3
_LEVELS_MAX: Final = 5
_DEEP_LEVELS_MAX: Final = 300

_SUBSET: Final = """<!DOCTYPE a [
  <!ENTITY ten "10">
  <!ENTITY word "e&#110;">
  <!ENTITY item "x<b n='1'>&ten;</b><!-- cut -->y">
  <!ENTITY twice "&item;&ten;&item;">
  <!ATTLIST a lang CDATA "en" n NMTOKENS #IMPLIED>
  <!ATTLIST c id NMTOKENS " 1   2 ">
]>"""
"""An internal subset: entities of text, of markup, of entities; defaults; a tokenised type."""

Scope = dict[str, str]
"""Prefixes in scope; the prefix of the default namespace is empty, and so is its URI at first."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the writer of a document likes it."""

    encoding: str
    byte_order_mark: bool = False
    internal_subset: bool = False
    line_end: str = "\n"
    quote: str = '"'
    space_in_tags: str = ""


_LAYOUTS: Final = (
    Layout("utf-8"),
    Layout("utf-8", internal_subset=True),
    Layout("utf-8", byte_order_mark=True, internal_subset=True, quote="'"),
    Layout("utf-8", internal_subset=True, line_end="\r\n", space_in_tags="\n\t"),
    Layout("utf-8", line_end="\r", space_in_tags=" "),
    Layout("utf-16-le", byte_order_mark=True, internal_subset=True, quote="'"),
    Layout("utf-16-be", byte_order_mark=True, line_end="\r\n"),
    Layout("iso-8859-1", internal_subset=True),
    Layout("us-ascii", quote="'"),
)
_TEXT_PIECES: Final = (
    *VALUES,
    "&lt;",
    "&amp;",
    "&#49;",
    "&#x1F600;",
    "<![CDATA[1]]>",
    "<![CDATA[<a>]]>",
    "<![CDATA[]]>",
    "<!---->",
    "<!-- <a/> -->",
    "<?pi?>",
    "<?pi x='1'?>",
    " ",
    "\n",
    "]]",
    "日本",
    "\U0001f600",
)
_ENTITY_PIECES: Final = ("&ten;", "&word;", "&item;", "&twice;")
_ATTRIBUTE_PIECES: Final = (*VALUES, "&lt;", "&#49;", "&#10;", "\t", "\n", ">")
_ATTRIBUTE_ENTITY_PIECES: Final = ("&ten;", "&word;")


_CONTENT: Final = st.lists(st.sampled_from((True, True, False)), max_size=_CHILDREN_MAX)
"""Which pieces of an element's content are elements."""


def _qualified(prefix: str, local: str) -> str:
    return f"{prefix}:{local}" if prefix else local


class _Writer:
    """Draws a document and writes it down."""

    def __init__(self, draw: DrawFn, layout: Layout) -> None:
        self._draw = draw
        self._space = layout.space_in_tags
        self._quote = layout.quote
        entities = layout.internal_subset
        self._text = st.sampled_from((*_TEXT_PIECES, *(_ENTITY_PIECES if entities else ())))
        self._values = st.lists(
            st.sampled_from((*_ATTRIBUTE_PIECES, *(_ATTRIBUTE_ENTITY_PIECES if entities else ()))),
            max_size=2,
        )

    def element(self, scope: Scope, levels: int) -> str:
        """An element with at most ``levels`` levels, itself included."""
        declared = self._declarations()
        scope = {**scope, **declared}
        prefix = self._draw(st.sampled_from(sorted(scope)))
        name = _qualified(prefix, self._draw(st.sampled_from(ELEMENT_NAMES)))
        tag = name
        for prefix, uri in declared.items():
            tag += f" {_qualified('xmlns', prefix) if prefix else 'xmlns'}='{uri}'"
        tag += self._attributes(scope) + self._space
        content = "".join(
            self.element(scope, levels - 1) if choice else self._draw(self._text)
            for choice in self._draw(_CONTENT)
            if levels > 1 or not choice
        )
        if not content and self._draw(st.booleans()):
            return f"<{tag}/>"
        return f"<{tag}>{content}</{name}{self._space}>"

    def _declarations(self) -> Scope:
        """Namespaces declared on one element; mostly none."""
        prefix = self._draw(st.sampled_from((None, None, None, None, *_PREFIXES)))
        if prefix is None:
            return {}
        uris = NAMESPACE_URIS if prefix else ("", *NAMESPACE_URIS)
        return {prefix: self._draw(st.sampled_from(uris))}

    def _attributes(self, scope: Scope) -> str:
        """Attributes whose expanded names differ, whatever their prefixes."""
        # The default namespace does not apply to attributes: no prefix, no namespace.
        prefixes = ("", "", *sorted(set(scope) - {""}))
        names = st.tuples(st.sampled_from(prefixes), st.sampled_from(ATTRIBUTE_NAMES))
        written = ""
        for prefix, local in self._draw(
            st.lists(
                names | st.just(("xml", "lang")),
                max_size=_ATTRIBUTES_MAX,
                unique_by=lambda name: (scope.get(name[0], name[0]) if name[0] else "", name[1]),
            )
        ):
            value = "".join(self._draw(self._values))
            name = _qualified(prefix, local)
            written += f" {name}{self._space}={self._space}{self._quote}{value}{self._quote}"
        return written


def _encoded(text: str, layout: Layout) -> bytes:
    """The document in its encoding, or in UTF-8 if that lacks a character."""
    declared = layout.encoding.partition("-le")[0].partition("-be")[0]
    declaration = f'<?xml version="1.0" encoding="{declared}"?>\n'
    mark = "\ufeff" if layout.byte_order_mark else ""
    whole = (declaration + text).replace("\n", layout.line_end)
    try:
        return (mark + whole).encode(layout.encoding)
    except UnicodeEncodeError:
        return text.encode()


@st.composite
def _documents(draw: DrawFn) -> bytes:
    layout = draw(st.sampled_from(_LAYOUTS))
    root = _Writer(draw, layout).element({"": ""}, _LEVELS_MAX)
    subset = _SUBSET if layout.internal_subset else ""
    around = draw(st.sampled_from(("", "<!-- a -->", "<?pi?>\n")))
    return _encoded(subset + around + root + around, layout)


@st.composite
def _deep_documents(draw: DrawFn) -> bytes:
    """A single path, deeper than lxml's parser accepts by default, with a value at its end."""
    cycle = draw(st.lists(st.sampled_from(ELEMENT_NAMES), min_size=1, max_size=3))
    levels = draw(st.integers(257, _DEEP_LEVELS_MAX))
    names = [cycle[level % len(cycle)] for level in range(levels)]
    value = draw(st.sampled_from(VALUES))
    start = "".join(f"<{name}>" for name in names)
    return (start + value + "".join(f"</{name}>" for name in reversed(names))).encode()


documents: Final[SearchStrategy[bytes]] = _documents()
"""Well-formed documents of every kind, up to a handful of levels."""

deep_documents: Final[SearchStrategy[bytes]] = _deep_documents()
"""Well-formed documents of hundreds of levels."""


@st.composite
def _broken(draw: DrawFn) -> bytes:
    document = draw(documents)
    start = draw(st.integers(0, len(document) - 1))
    end = draw(st.integers(start + 1, len(document)))
    return document[:start] + draw(st.binary(max_size=3)) + document[end:]


perhaps_broken: Final[SearchStrategy[bytes]] = _broken()
"""Documents with a piece cut out or overwritten: mostly not well-formed, never known beforehand."""


@st.composite
def _in_chunks(draw: DrawFn, document: bytes) -> list[bytes]:
    cuts = sorted(draw(st.lists(st.integers(0, len(document)), max_size=6)))
    return [document[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]


def chunks_of(document: bytes) -> SearchStrategy[list[bytes]]:
    """The document cut anywhere, empty pieces included."""
    return _in_chunks(document)
