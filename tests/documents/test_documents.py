"""Documents, headers, dead letters and limits are values that can be pickled."""

from __future__ import annotations

import pickle

import pytest

from penstock.documents import (
    DeadLetter,
    Document,
    Header,
    Limits,
    Name,
    StartElement,
    read_events,
    read_summary,
)
from penstock.errors import DocumentError, NativeMissingError
from penstock.native import native


def test_the_same_bytes_of_the_same_publisher_are_the_same_document() -> None:
    mine = Document(b"<a/>", Header(publisher="me"))
    assert mine.identity == Document(b"<a/>", Header(publisher="me", schema="s")).identity
    assert mine.identity != Document(b"<a/>", Header(publisher="you")).identity
    assert mine.identity != Document(b"<b/>", Header(publisher="me")).identity


def test_a_given_id_is_the_identity_within_the_publisher() -> None:
    one = Document(b"<a/>", Header(publisher="a/b", id="c"))
    assert one.identity == Document(b"<changed/>", Header(publisher="a/b", id="c")).identity
    assert one.identity != Document(b"<a/>", Header(publisher="a", id="b/c")).identity


def test_a_header_does_not_change_with_the_mapping_it_was_made_of() -> None:
    fields = {"topic": "rain"}
    header = Header(publisher="me", fields=fields)
    fields["topic"] = "sun"
    assert header.fields == {"topic": "rain"}
    assert hash(header) == hash(Header(publisher="me", fields={"topic": "rain"}))


def test_a_dead_letter_has_code_and_position() -> None:
    document = Document(b"<a>\n<b></a>", Header(publisher="me"))
    with pytest.raises(DocumentError) as caught:
        read_events(document.content)
    letter = DeadLetter.of(document, caught.value)
    assert (letter.code, letter.where and letter.where.line) == ("xml.end-tag", 2)
    assert letter.message
    assert letter.hint
    assert pickle.loads(pickle.dumps(letter)) == letter


def test_documents_and_events_can_be_pickled() -> None:
    document = Document(b"<a b='1'>t<!----></a>", Header(publisher="me", fields={"k": "v"}))
    events = read_events(document.content)
    assert pickle.loads(pickle.dumps(document)) == document
    assert pickle.loads(pickle.dumps(events)) == events
    assert pickle.loads(pickle.dumps(Limits(depth=3))) == Limits(depth=3)


@pytest.mark.skipif(native is None, reason="there is nothing to compare with")
def test_limits_match_the_native_core() -> None:
    assert dict(native.default_limits()) == Limits().by_name()


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "8"])
def test_limits_are_positive(value: object) -> None:
    with pytest.raises(ValueError, match="depth"):
        Limits(depth=value)  # type: ignore[arg-type]


def test_an_unknown_declaration_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="honour"):
        read_events(b"<a/>", declarations="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda content: iter([content])])
def test_the_reader_accepts_every_kind_of_buffer(kind: type[bytes]) -> None:
    (start, _) = read_events(kind(b"<a/>"))
    assert isinstance(start, StartElement)
    assert start.name == Name("", "a")


def test_an_error_of_the_source_is_propagated() -> None:
    def chunks() -> object:
        yield b"<a>"
        raise OSError("the line is dead")

    with pytest.raises(OSError, match="dead"):
        read_summary(chunks())  # type: ignore[arg-type]


def test_supplied_entities_complement_those_of_the_document() -> None:
    document = b"<!DOCTYPE a [<!ENTITY own 'mine'>]><a k='&own;&other;'>&own;&other;</a>"
    events = read_events(document, entities={"own": "yours", "other": "<&>"})
    (start, text, _) = events
    assert isinstance(start, StartElement)
    assert start.attributes[0].value == "mine<&>"
    assert getattr(text, "text", None) == "mine<&>"


def test_a_missing_native_core_is_an_import_error() -> None:
    assert issubclass(NativeMissingError, ImportError)
