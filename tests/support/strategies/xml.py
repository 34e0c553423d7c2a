"""Hypothesis strategies for well-formed documents with unusual features."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

LOCAL_NAMES = st.sampled_from(["a", "b", "item", "é", "x-y.z_1"])
PREFIXES = {"p": "urn:p", "q": "urn:q", "same": "urn:p"}
"""Declared on every root."""

NAMES = st.one_of(
    LOCAL_NAMES,
    st.builds("{}:{}".format, st.sampled_from(sorted(PREFIXES)), LOCAL_NAMES),
)

CHARACTERS = st.sampled_from("abc XYZ\t\n\r09.-]>'\"é日\u00a0\u0085\ufeff\U0001f600")
NARROW_CHARACTERS = st.sampled_from("abc XYZ\t\n\r09.-]>'\"é\u00a0\u0085ÿ")

ENTITIES = {
    "plain": "some text",
    "empty": "",
    "nested": "&plain; and &#38;amp; é",
    "markup": "x<b p:k='&plain;'>y<!-- in --></b>&lt;",
    "spaces": " \t\n ",
}
"""Declared by documents that have a document type declaration."""

DOCTYPE = (
    "<!DOCTYPE a [<!-- ] > --><?pi ]>?>"
    + "".join(f'<!ENTITY {name} "{value}">' for name, value in ENTITIES.items())
    + "<!ATTLIST b d CDATA 'dflt' t NMTOKENS #IMPLIED>"
    + "<!ELEMENT a (#PCDATA|b)*>]>"
)


@st.composite
def attributes(draw: st.DrawFn, characters: st.SearchStrategy[str], has_doctype: bool) -> str:
    names = draw(st.lists(NAMES, max_size=3, unique_by=lambda name: name.split(":")[-1]))
    parts = []
    for name in names:
        value = draw(st.text(characters, max_size=8))
        written = (
            quoteattr(value) if draw(st.booleans()) else f'"{escape(value, {chr(34): "&#34;"})}"'
        )
        if has_doctype and draw(st.booleans()):
            written = written[:-1] + "&nested;" + written[-1]
        space = draw(st.sampled_from([" ", "\n", "\t ", "\r\n"]))
        parts.append(f"{space}{name}{draw(st.sampled_from(['=', ' = ']))}{written}")
    if draw(st.integers(0, 5)) == 0:
        parts.append(draw(st.sampled_from([" xmlns='urn:d'", " xmlns=''", " xmlns:n='urn:n'"])))
    if has_doctype and draw(st.integers(0, 3)) == 0:
        parts.append(" t='  one   two '")
    return "".join(parts)


@st.composite
def pieces(draw: st.DrawFn, characters: st.SearchStrategy[str], has_doctype: bool) -> str:
    """Content other than an element."""
    kind = draw(st.sampled_from(["text", "cdata", "comment", "pi", "char", "entity"]))
    text = draw(st.text(characters, max_size=12))
    if kind == "cdata":
        return f"<![CDATA[{text.replace(']]>', '')}]]>"
    if kind == "comment":
        return f"<!--{text.replace('-', '')}-->"
    if kind == "pi":
        return f"<?target {text.replace('?>', '')}?>"
    if kind == "char":
        return draw(st.sampled_from(["&amp;", "&lt;", "&#13;", "&#x1F600;", "&#10;", "&gt;"]))
    if kind == "entity" and has_doctype:
        return f"&{draw(st.sampled_from(sorted(ENTITIES)))};"
    return escape(text)


@st.composite
def elements(
    draw: st.DrawFn,
    characters: st.SearchStrategy[str],
    has_doctype: bool,
    depth: int = 3,
    declarations: str = "",
) -> str:
    name = draw(NAMES)
    start = f"{name}{declarations}{draw(attributes(characters, has_doctype))}"
    if draw(st.integers(0, 3)) == 0:
        return f"<{start}{draw(st.sampled_from(['', ' ']))}/>"
    inside = st.one_of(
        pieces(characters, has_doctype),
        elements(characters, has_doctype, depth - 1) if depth else st.just("<a/>"),
    )
    content = "".join(draw(st.lists(inside, max_size=4)))
    return f"<{start}>{content}</{name}{draw(st.sampled_from(['', ' ', chr(10)]))}>"


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """The text of a well-formed document, and a common encoding that it declares."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1"]))
    characters = NARROW_CHARACTERS if encoding == "iso-8859-1" else CHARACTERS
    has_doctype = draw(st.booleans())
    misc = st.sampled_from(["", "\n", "\r\n", "<!-- misc -->", "<?misc x?>", " <!----> "])
    label = {"utf-8-sig": "UTF-8", "utf-16-be": "UTF-16"}.get(encoding, encoding.upper())
    is_declared = encoding in ("iso-8859-1", "utf-16-be") or draw(st.booleans())
    root = draw(
        elements(
            characters,
            has_doctype,
            declarations="".join(f" xmlns:{p}='{uri}'" for p, uri in PREFIXES.items()),
        )
    )
    text = (
        (f'<?xml version="1.0" encoding="{label}"?>' if is_declared else "")
        + draw(misc)
        + (DOCTYPE if has_doctype else "")
        + draw(misc)
        + root
        + draw(misc)
    )
    return text, encoding


def encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "xmlcharrefreplace" if encoding == "iso-8859-1" else "strict")


def documents() -> st.SearchStrategy[bytes]:
    """Well-formed documents."""
    return texts().map(lambda made: encoded(*made))


@st.composite
def cut(draw: st.DrawFn, document: bytes) -> list[bytes]:
    """The same document in chunks."""
    places = sorted(draw(st.lists(st.integers(0, len(document)), max_size=8)))
    return [
        document[start:end]
        for start, end in zip([0, *places], [*places, len(document)], strict=True)
    ]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A document that is damaged, mostly beyond well-formedness."""
    text, encoding = draw(texts())
    at = draw(st.integers(0, len(text)))
    length = draw(st.integers(0, 3))
    scraps = ["", "<", ">", "&", '"', "/", "]]>", "--", " ", "\x01", "\uffff", "=", "a", ":"]
    return encoded(text[:at] + draw(st.sampled_from(scraps)) + text[at + length :], encoding)
