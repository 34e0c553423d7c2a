"""The native reader agrees with the reference, and does not depend on chunk boundaries."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.documents import Limits, read_events, read_summary
from penstock.documents.reference import reader as reference
from penstock.errors import DocumentError
from penstock.native import native
from support.strategies.xml import cut, damaged, documents

pytestmark = pytest.mark.skipif(native is None, reason="there is nothing to compare with")

WINDOWS = st.sampled_from([1, 2, 3, 7, 64, 4096])


def by_reference(document: bytes) -> reference.Reading:
    return reference.read(document, Limits(), {}, False)


def outcome(source: bytes | list[bytes], limits: Limits) -> object:
    """Events, or the code and position of a refusal."""
    try:
        return read_events(source, limits=limits)
    except DocumentError as refused:
        return refused.code, refused.where


@given(documents())
def test_events_and_spans_equal_the_reference(document: bytes) -> None:
    expected = by_reference(document)
    assert read_events(document) == expected.events
    summary = read_summary(document)
    found = (summary.elements, summary.attributes, summary.bytes, summary.encoding, summary.doctype)
    assert found == expected.amounts()


# A name in a content model is a qualified name, too.
@example(b"<!DOCTYPE a [<!ELEMENT a (#PCDATA|:b)*>]><a/>")
@given(damaged())
def test_refusals_equal_the_reference(document: bytes) -> None:
    try:
        expected = by_reference(document).events
    except DocumentError:
        with pytest.raises(DocumentError):
            read_events(document)
    else:
        assert read_events(document) == expected


@given(st.data(), damaged() | documents(), WINDOWS)
def test_chunk_boundaries_do_not_matter(
    data: st.DataObject, document: bytes, window_bytes: int
) -> None:
    chunks = data.draw(st.just([bytes([b]) for b in document]) | cut(document))
    limits = Limits(window_bytes=window_bytes)
    assert outcome(chunks, limits) == outcome(document, Limits())
