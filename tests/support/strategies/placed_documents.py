"""Generated documents with the byte range of each node.

They allow comparing the selections of lxml with an engine that returns byte ranges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, cast

from hypothesis import strategies as st
from lxml import etree

from support.strategies.queries import Vocabulary

Range: TypeAlias = tuple[int, int]
"""First byte, and one past the last."""

Place: TypeAlias = tuple[int, str]
"""The number of an element, comment or instruction in document order; then ``""`` for itself,
``"text"`` or ``"tail"`` for the text before its first child or after its end, ``"@name"`` for an
attribute."""

ENCODINGS = ("utf-8", "utf-16-le", "iso-8859-1")


@dataclass
class PlacedDocument:
    """A document and the ranges of its nodes."""

    encoding: str
    text: str = ""
    ranges: dict[Place, Range] = field(default_factory=dict)
    _offset: int = 0
    _numbered: int = 0

    @property
    def data(self) -> bytes:
        """The bytes of the document."""
        return self.text.encode(self.encoding)

    def write(self, text: str) -> Range:
        """Append some text."""
        start = self._offset
        self.text += text
        self._offset += len(text.encode(self.encoding))
        return start, self._offset

    def number(self) -> int:
        """The number of the next element, comment or instruction."""
        self._numbered += 1
        return self._numbered - 1

    def ranges_of(self, found: list[object]) -> list[tuple[str, Range]]:
        """Kind and range of what lxml's XPath found in :attr:`data`, in document order."""
        if not found:
            return []
        first = found[0]
        holder = first if isinstance(first, etree._Element) else _holder(first)
        everything = holder.getroottree().getroot().iter()
        numbers = {node: number for number, node in enumerate(everything)}
        places = {_place(numbers, node) for node in found}
        return sorted(
            (
                (_KINDS.get(which, "attribute"), self.ranges[number, which])
                for number, which in places
            ),
            # An element begins before its attributes, and those before its text.
            key=lambda placed: placed[1][0],
        )


_KINDS = {"": "element", "text": "text", "tail": "text"}


def _holder(found: object) -> etree._Element:
    holder = cast("etree._ElementUnicodeResult", found).getparent()
    assert holder is not None
    return holder


def _place(numbers: dict[etree._Element, int], found: object) -> Place:
    if isinstance(found, etree._Element):
        return numbers[found], ""
    text = cast("etree._ElementUnicodeResult", found)
    if text.is_attribute:
        return numbers[_holder(found)], f"@{text.attrname!s}"
    return numbers[_holder(found)], "tail" if text.is_tail else "text"


@st.composite
def placed_documents(
    draw: st.DrawFn, vocabulary: Vocabulary, *, max_depth: int = 6
) -> PlacedDocument:
    """Documents with mixed content, comments, CDATA sections and references, in three encodings."""
    document = PlacedDocument(draw(st.sampled_from(ENCODINGS)))
    if document.encoding == "utf-16-le":
        document.write("\ufeff")
    elif document.encoding != "utf-8":
        document.write(f"<?xml version='1.0' encoding='{document.encoding}'?>\n")
    _Writer(draw, document, vocabulary).element(max_depth, root=True)
    return document


class _Writer:
    def __init__(self, draw: st.DrawFn, document: PlacedDocument, vocabulary: Vocabulary) -> None:
        self._draw = draw
        self._document = document
        self._uris = [uri for uri in vocabulary.uris if uri]
        self._elements = self._names(vocabulary, vocabulary.elements)
        self._attributes = self._names(vocabulary, vocabulary.attributes)
        self._texts = [text for text in vocabulary.texts if text] + ["é"]

    def _names(self, vocabulary: Vocabulary, local_names: tuple[str, ...]) -> list[tuple[str, str]]:
        """Names as written, and as in lxml."""
        return [
            (f"n{self._uris.index(uri)}:{local}", f"{{{uri}}}{local}") if uri else (local, local)
            for uri in vocabulary.uris
            for local in local_names
        ]

    def element(self, depth: int, *, root: bool = False) -> int:
        number = self._document.number()
        written, _ = self._draw(st.sampled_from(self._elements))
        start, _ = self._document.write(f"<{written}")
        if root:
            for at, uri in enumerate(self._uris):
                self._document.write(f" xmlns:n{at}='{uri}'")
        for name, lxml_name in self._draw(
            st.lists(st.sampled_from(self._attributes), max_size=2, unique=True)
        ):
            self._document.write(" ")
            value = self._draw(st.sampled_from([*self._texts, ""]))
            place = number, f"@{lxml_name}"
            self._document.ranges[place] = self._document.write(f"{name}='{value}'")
        self._document.write(">")
        self._content(number, depth)
        _, end = self._document.write(f"</{written}>")
        self._document.ranges[number, ""] = start, end
        return number

    def _content(self, parent: int, depth: int) -> None:
        before, which = parent, "text"
        for _ in range(self._draw(st.integers(0, 4 if depth > 3 else 2))):
            kind = self._draw(st.sampled_from(("element", "element", "text", "comment")))
            if kind == "element" and depth > 0:
                before, which = self.element(depth - 1), "tail"
            elif kind == "comment":
                before, which = self._document.number(), "tail"
                self._document.write(self._draw(st.sampled_from(("<!-- x -->", "<?x y?>"))))
            else:
                # Adjacent pieces are one node.
                start, end = self._document.write(self._piece())
                start, _ = self._document.ranges.get((before, which), (start, end))
                self._document.ranges[before, which] = start, end

    def _piece(self) -> str:
        text = self._draw(st.sampled_from(self._texts))
        match self._draw(st.sampled_from(("plain", "plain", "cdata", "reference"))):
            case "cdata":
                return f"<![CDATA[{text}]]>"
            case "reference":
                return "".join(f"&#{ord(character)};" for character in text)
            case _:
                return text
