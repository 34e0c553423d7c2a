"""Encodings: events are the same in all of them, and offsets count original bytes."""

from __future__ import annotations

import pytest

from penstock.documents import (
    Attribute,
    Context,
    EndElement,
    Fragment,
    Limits,
    StartElement,
    Text,
    read_events,
    read_summary,
)
from penstock.documents.reference import reader as reference
from penstock.errors import DocumentError
from penstock.native import native

LATIN = "<a k='é'>né<b>ü</b></a>"
JAPANESE = "<新聞 題='記事'>日本語abc<b/>テスト</新聞>"

EVERYWHERE = [
    (LATIN, "utf-8", "UTF-8", b""),
    (LATIN, "utf-8", "utf-8", b"\xef\xbb\xbf"),
    (LATIN, "utf-16-le", "UTF-16", b"\xff\xfe"),
    (LATIN, "utf-16-be", "UTF-16", b"\xfe\xff"),
    (LATIN, "utf-16-le", "UTF-16LE", b""),
    (LATIN, "utf-16-be", "utf-16be", b""),
    (LATIN, "iso-8859-1", "ISO-8859-1", b""),
    (LATIN, "iso-8859-1", "latin1", b""),
]
NATIVELY = [
    (LATIN, "cp1252", "windows-1252", b""),
    (LATIN, "iso-8859-15", "ISO-8859-15", b""),
    (LATIN, "iso-8859-9", "ISO-8859-9", b""),
    (JAPANESE, "shift_jis", "Shift_JIS", b""),
    (JAPANESE, "euc_jp", "EUC-JP", b""),
    (JAPANESE, "iso2022_jp", "ISO-2022-JP", b""),
    (JAPANESE, "gb18030", "GB18030", b""),
    (JAPANESE, "utf-16-le", "UTF-16", b"\xff\xfe"),
]


def declared(text: str, codec: str, label: str, mark: bytes) -> bytes:
    return mark + f'<?xml version="1.0" encoding="{label}"?>{text}'.encode(codec)


@pytest.mark.parametrize(
    ("text", "codec", "label", "mark"),
    [
        *EVERYWHERE,
        *(
            pytest.param(*row, marks=pytest.mark.skipif(native is None, reason="Expat has it not"))
            for row in NATIVELY
        ),
    ],
)
def test_events_are_the_same_and_spans_cut_the_original_bytes(
    text: str, codec: str, label: str, mark: bytes
) -> None:
    document = declared(text, codec, label, mark)
    expected = read_events(text.encode())
    found = read_events(document)
    assert len(found) == len(expected)
    context = Context.of(document, read_summary(document))
    for event, same in zip(found, expected, strict=True):
        assert type(event) is type(same)
        if isinstance(event, StartElement) and isinstance(same, StartElement):
            assert event.name == same.name
            for own, other in zip(event.attributes, same.attributes, strict=True):
                assert (own.name, own.value) == (other.name, other.value)
                assert cut(document, context, own) == cut(text.encode(), Context(), other)
        if isinstance(event, Text) and isinstance(same, Text):
            assert event.text == same.text
            assert cut(document, context, event) == cut(text.encode(), Context(), same)
        if isinstance(event, EndElement) and isinstance(same, EndElement):
            assert cut(document, context, event) == cut(text.encode(), Context(), same)


def cut(document: bytes, context: Context, part: Attribute | Text | EndElement) -> str:
    kinds = {Attribute: "attribute", Text: "text", EndElement: "element"}
    return Fragment.cut(document, kinds[type(part)], [part.span], context=context).to_xml()  # type: ignore[arg-type]


@pytest.mark.skipif(native is None, reason="Expat decodes these differently")
def test_iso_labels_are_not_decoded_as_windows_encodings() -> None:
    for label, byte in [("iso-8859-1", 0x80), ("iso-8859-9", 0x9F), ("iso-8859-11", 0x85)]:
        document = f'<?xml version="1.0" encoding="{label}"?><a>'.encode() + bytes([byte]) + b"</a>"
        assert [e.text for e in read_events(document) if isinstance(e, Text)] == [chr(byte)]


@pytest.mark.skipif(native is None, reason="Expat knows others")
@pytest.mark.parametrize("label", ["tis-620", "hz-gb-2312", "x-user-defined", "utf-32", "ebcdic"])
def test_encodings_that_cannot_be_decoded_exactly_are_refused(label: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_events(f'<?xml version="1.0" encoding="{label}"?><a/>'.encode())
    assert caught.value.code == "encoding.unknown"


@pytest.mark.skipif(
    native is None, reason="Python's codecs are as strict, but Expat finds it later"
)
@pytest.mark.parametrize(
    ("label", "bad"),
    [("shift_jis", b"\x81"), ("euc-jp", b"\xff"), ("iso-8859-15", b""), ("gb18030", b"\xff")],
)
def test_undecodable_bytes_are_refused_not_replaced(label: str, bad: bytes) -> None:
    head = f'<?xml version="1.0" encoding="{label}"?><a>'.encode()
    if not bad:
        assert read_events(head + b"\xa4</a>")
        return
    with pytest.raises(DocumentError) as caught:
        read_events(head + bad + b"</a>")
    assert caught.value.code in ("encoding.bytes", "xml.unclosed")
    assert caught.value.where is not None
    assert caught.value.where.offset >= len(head)


@pytest.mark.parametrize(
    ("codec", "label", "mark", "fits"),
    [
        ("utf-8", "UTF-8", b"\xef\xbb\xbf", True),
        ("utf-8", "utf8", b"\xef\xbb\xbf", True),
        ("utf-8", "us-ascii", b"\xef\xbb\xbf", False),
        ("utf-16-le", "utf-16le", b"\xff\xfe", True),
        ("utf-16-le", "iso-10646-ucs-2", b"\xff\xfe", True),
        ("utf-16-le", "utf-16be", b"\xff\xfe", False),
        ("utf-16-le", "u6", b"\xff\xfe", False),
        ("utf-16-be", "utf-8", b"\xfe\xff", False),
        ("utf-16-be", "utf-16be", b"", True),
        ("utf-16-be", "iso-8859-1", b"", False),
    ],
)
def test_the_encoding_declaration_must_agree_with_the_first_bytes(
    codec: str, label: str, mark: bytes, *, fits: bool
) -> None:
    document = declared("<a/>", codec, label, mark)
    reads = (read_summary, lambda content: reference.read(content, Limits(), {}, False))
    for read in reads:
        if fits:
            read(document)
            continue
        with pytest.raises(DocumentError) as caught:
            read(document)
        assert caught.value.code == "encoding.mismatch"
