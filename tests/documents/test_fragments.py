"""Fragments are self-contained documents."""

from __future__ import annotations

import pickle

import pytest

from penstock.documents import (
    WRAPPER_URI,
    Context,
    EndElement,
    Fragment,
    Name,
    Span,
    StartElement,
    Text,
    read_events,
    read_summary,
)
from penstock.errors import DocumentError
from penstock.native import native
from support.fixtures.bounded_process import run_bounded
from support.fixtures.canonical import canonical


def element(document: bytes, local: str, entities: dict[str, str] | None = None) -> Fragment:
    """The first element called ``local``, cut out of the document."""
    open_: list[StartElement] = []
    for event in read_events(document, entities=entities):
        if isinstance(event, StartElement):
            open_.append(event)
        elif isinstance(event, EndElement):
            start = open_.pop()
            if start.name.local == local:
                context = Context.of(document, read_summary(document, entities=entities), entities)
                return Fragment.cut(
                    document,
                    "element",
                    [event.span],
                    namespaces=dict(start.namespaces),
                    context=context,
                )
    raise AssertionError(f"there is no element {local}")


def test_an_element_keeps_its_bytes_and_gets_the_declarations_it_inherits() -> None:
    document = (
        b"<a xmlns='urn:d' xmlns:p='urn:p' xmlns:q='urn:q'><b xmlns:q='urn:o' p:k='>'>1</b></a>"
    )
    part = element(document, "b")
    assert part.pieces == (b"<b xmlns:q='urn:o' p:k='>'>1</b>",)
    assert part.to_xml() == ("<b xmlns=\"urn:d\" xmlns:p=\"urn:p\" xmlns:q='urn:o' p:k='>'>1</b>")


def test_a_value_that_looks_like_a_declaration_is_not_one() -> None:
    document = b"<a xmlns:p='urn:p'><p:b k=' xmlns:p='/></a>"
    assert 'xmlns:p="urn:p"' in element(document, "b").to_xml()


def test_an_undeclared_default_namespace_stays_undeclared() -> None:
    part = element(b"<a xmlns='urn:d'><b xmlns=''><c/></b></a>", "c")
    assert part.to_xml() == "<c/>"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_every_element_reads_the_same_alone_and_in_its_document(encoding: str) -> None:
    text = (
        "<a xmlns='urn:d' xmlns:p='urn:p'>é<b p:x='1'><p:c xmlns:p='urn:o' p:y=''/></b>"
        "<![CDATA[<]]>&amp;</a>"
    )
    head = f'<?xml version="1.0" encoding="{encoding.upper()}"?>'
    document = f"{head}{text}".encode(encoding)
    whole = canonical(read_events(document))
    for local in ("a", "b", "c"):
        alone = canonical(read_events(element(document, local).to_xml().encode()))
        start = whole.index(alone[0])
        assert whole[start : start + len(alone)] == alone


def test_text_and_several_ranges_are_wrapped() -> None:
    document = b"<a>one<b/>two</a>"
    part = Fragment.cut(document, "text", [Span(3, 6), Span(10, 13)])
    assert part.to_xml() == f'<ps:fragment xmlns:ps="{WRAPPER_URI}">onetwo</ps:fragment>'


def test_the_wrapper_uses_an_unused_prefix() -> None:
    part = Fragment.cut(b"<a>ps:x</a>", "text", [Span(3, 7)], namespaces={"ps": "urn:other"})
    root = read_events(part.to_xml().encode())[0]
    assert isinstance(root, StartElement)
    assert root.name == Name(WRAPPER_URI, "fragment")
    assert ("ps", "urn:other") in root.namespaces


def test_an_attribute_is_an_attribute_of_the_wrapper() -> None:
    document = b"<a xmlns:p='urn:p' p:k='1 &lt; 2'/>"
    part = Fragment.cut(document, "attribute", [Span(19, 33)], namespaces={"p": "urn:p"})
    root = read_events(part.to_xml().encode())[0]
    assert isinstance(root, StartElement)
    assert [(a.name, a.value) for a in root.attributes] == [(Name("urn:p", "k"), "1 < 2")]


DECLARING = b"<!DOCTYPE a [<!ENTITY e 'x<b/>y'><!ATTLIST a k CDATA 'given'>]><a>1&e;2</a>"


def test_declared_entities_and_defaults_are_expanded() -> None:
    assert element(DECLARING, "a").to_xml() == '<a k="given">1x<b></b>y2</a>'


def test_a_node_from_an_entity_spans_the_outermost_reference() -> None:
    part = element(DECLARING, "b")
    assert part.from_entity
    assert part.pieces == (b"&e;",)
    assert canonical(read_events(part.to_xml().encode()))[1:-1] == [
        "x",
        (Name("", "b"), ()),
        None,
        "y",
    ]


def test_a_defaulted_attribute_is_written_with_its_value() -> None:
    start = read_events(DECLARING)[0]
    assert isinstance(start, StartElement)
    context = Context.of(DECLARING, read_summary(DECLARING))
    (attribute,) = start.attributes
    part = Fragment.cut(
        DECLARING, "attribute", [attribute.span], context=context, name=attribute.name
    )
    root = read_events(part.to_xml().encode())[0]
    assert isinstance(root, StartElement)
    assert [(a.name.local, a.value) for a in root.attributes] == [("k", "given")]


def test_supplied_entities_are_expanded() -> None:
    part = element(b"<a><b>&eacute;&lt;</b></a>", "b", {"eacute": "é"})
    assert part.to_xml() == "<b>é&lt;</b>"


def test_fragments_can_be_pickled() -> None:
    part = element(DECLARING, "a")
    assert pickle.loads(pickle.dumps(part)) == part
    assert pickle.loads(pickle.dumps(part)).to_xml() == part.to_xml()


def test_text_events_report_expanded_entities() -> None:
    texts = [event for event in read_events(DECLARING) if isinstance(event, Text)]
    assert [(text.text, text.span) for text in texts] == [
        ("1x", Span(66, 70, True)),
        ("y2", Span(67, 71, True)),
    ]


def path(document: bytes, *parts: bytes, namespaces: dict[str, str] | None = None) -> Fragment:
    """The parts of the document in their order, as one path."""
    spans, end = [], 0
    for part in parts:
        start = document.index(part, end)
        end = start + len(part)
        spans.append(Span(start, end))
    context = Context.of(document, read_summary(document))
    return Fragment.cut(document, "path", spans, namespaces=namespaces, context=context)


def test_a_path_return_is_a_well_formed_element() -> None:
    document = b"<a xmlns='urn:d' xmlns:p='urn:p'><b k='1'><c>x</c><p:d/><c>y</c></b></a>"
    part = path(document, b"<b k='1'>", b"<p:d/>", b"</b>", namespaces={"": "urn:d", "p": "urn:p"})
    assert part.pieces == (b"<b k='1'>", b"<p:d/>", b"</b>")
    assert part.to_xml() == '<b xmlns="urn:d" xmlns:p="urn:p" k=\'1\'><p:d/></b>'
    assert pickle.loads(pickle.dumps(part)) == part


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "iso-8859-1"])
def test_a_path_in_any_encoding(encoding: str) -> None:
    mark = "\ufeff" if encoding.startswith("utf-16") else ""
    declared = encoding.removesuffix("-le").removesuffix("-be")
    text = f'{mark}<?xml version="1.0" encoding="{declared}"?><a>é<b>x</b><c/></a>'
    parts = [each.encode(encoding) for each in ("<a>é", "<c/></a>")]
    assert path(text.encode(encoding), *parts).to_xml() == "<a>é<c/></a>"


@pytest.mark.parametrize(
    ("before", "between", "after", "expected"),
    [
        (b"sto", b"<b/>", b"rm", "sto<!---->rm"),
        (b"sto", b"<!-- -->", b"rm", "sto<!---->rm"),
        (b"sto ", b"<b/>", b"rm", "sto rm"),
        (b"sto", b"<b/>", b"\nrm", "sto\nrm"),
        (b"<![CDATA[sto]]>", b"<b/>", b"rm", "<![CDATA[sto]]><!---->rm"),
        (b"sto", b"<b/>", b"<![CDATA[rm]]>", "sto<!----><![CDATA[rm]]>"),
        (b"]]", b"<b/>", b">", "]]<!---->>"),
        (b"&#115;", b"<b/>", b"&#116;", "&#115;<!---->&#116;"),
        (b"<c>sto</c>", b"<b/>", b"rm", "<c>sto</c>rm"),
    ],
)
def test_separate_texts_stay_separate(
    before: bytes, between: bytes, after: bytes, expected: str
) -> None:
    document = b"<a>" + before + between + after + b"</a>"
    part = path(document, b"<a>" + before, after + b"</a>")
    assert part.to_xml() == f"<a>{expected}</a>"
    assert read_events(part.to_xml().encode())


def test_a_path_in_a_document_with_declarations() -> None:
    document = (
        b"<!DOCTYPE a [<!ENTITY e 'x<b/>y'><!ATTLIST a k CDATA 'given'>]><a>1<c/>&e;<d/>2</a>"
    )
    part = path(document, b"<a>1", b"&e;", b"2</a>")
    assert part.to_xml() == '<a k="given">1<!---->x<b></b>y<!---->2</a>'


def test_a_path_return_from_an_entity_is_wrapped() -> None:
    document = b"<!DOCTYPE a [<!ENTITY e '<b>1</b>'>]><a>&e;</a>"
    part = path(document, b"&e;")
    assert canonical(read_events(part.to_xml().encode()))[1:-1] == [(Name("", "b"), ()), "1", None]


@pytest.mark.skipif(native is None, reason="the reference reads the declarations each time")
def test_the_declarations_are_read_once_for_many_fragments() -> None:
    program = """
from penstock.documents import Context, Fragment, Span, read_summary

declared = "".join(f"<!ENTITY e{n} '{'x' * 30}'>" for n in range(18_000))
document = f"<!DOCTYPE a [{declared}]><a><b>&e1;</b></a>".encode()
at = document.index(b"<b>")
context = Context.of(document, read_summary(document))
part = Fragment.cut(document, "element", [Span(at, len(document) - 4)], context=context)
report(len({part.to_xml() for _ in range(20_000)}))
"""
    assert run_bounded(program) == 1


def test_a_refused_fragment_does_not_affect_the_next_one() -> None:
    document = b"<!DOCTYPE a [<!ENTITY e '<b>&f;</b>'><!ENTITY f '1'>]><a>&e;</a>"
    context = Context.of(document, read_summary(document))
    broken = Fragment("content", (Span(0, 1),), (b"&e;&x;",), context=context)
    whole = Fragment("content", (Span(0, 1),), (b"&e;",), context=context)
    for _ in range(3):
        with pytest.raises(DocumentError):
            broken.to_xml()
        assert "<b>1</b>" in whole.to_xml()
