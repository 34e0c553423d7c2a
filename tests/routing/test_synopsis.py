"""The synopsis: a bounded sample that depends neither on order nor on chance."""

from __future__ import annotations

import random

import pytest

from penstock.documents import Document, Header
from penstock.routing import Pattern, SampledDocuments, Synopsis, synopsis
from penstock.routing.limits import SYNOPSIS_DOCUMENT_BYTES_MAX, SYNOPSIS_DOCUMENTS_MAX

DOCUMENTS = [f"<a n='{number}'/>".encode() for number in range(3 * SYNOPSIS_DOCUMENTS_MAX)]


def observed(*documents: bytes | Document) -> Synopsis:
    made = Synopsis()
    made.observe(documents)
    return made


def test_the_sample_is_bounded_and_independent_of_order_and_repetition() -> None:
    first = observed(*DOCUMENTS)
    mixed = [*DOCUMENTS, *DOCUMENTS]
    random.Random(1).shuffle(mixed)
    again = observed(*mixed)
    assert len(first.documents()) == SYNOPSIS_DOCUMENTS_MAX // 2
    assert again.documents() == first.documents()
    assert again.observed == 2 * first.observed


def test_the_merge_of_two_is_the_synopsis_of_all_their_documents() -> None:
    half = len(DOCUMENTS) // 2
    merged = observed(*DOCUMENTS[:half])
    merged.merge(observed(*DOCUMENTS[half:]))
    together = observed(*DOCUMENTS)
    assert merged.documents() == together.documents()
    assert merged.observed == together.observed


def test_the_documents_before_the_previous_generation_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(synopsis, "SYNOPSIS_GENERATION_DOCUMENTS", 2)
    seen = observed(b"<a/>", b"<b/>", b"<c/>", b"<d/>", b"<e/>")
    assert set(seen.documents().contents) == {b"<c/>", b"<d/>", b"<e/>"}


def test_large_documents_are_counted_and_not_sampled() -> None:
    large = b"<a>" + b"x" * SYNOPSIS_DOCUMENT_BYTES_MAX + b"</a>"
    seen = observed(large, b"<a/>")
    assert seen.documents().contents == (b"<a/>",)
    assert (seen.observed, seen.skipped) == (2, 1)


def test_documents_with_different_headers_are_different() -> None:
    english, german = (
        Document(b"<a/>", Header(publisher="p", fields={"lang": lang})) for lang in ("en", "de")
    )
    sample = observed(english, german, b"<a/>").documents()
    assert len(sample) == 3
    wanted = Pattern.of_path("/a", where={"lang": "en"})
    (bits,) = sample.match_bits([wanted])
    assert bits.bit_count() == 1
    assert sample.fields[bits.bit_length() - 1]["lang"] == "en"


def test_a_refused_document_counts_as_matching_everything() -> None:
    sample = SampledDocuments.of([b"<a/>", b"<a>"])
    patterns = [Pattern.of_path("/a"), Pattern.of_path("/b"), Pattern.of_keywords("storm")]
    assert sample.match_bits(patterns) == [0b11, 0b10, 0b10]


def test_without_documents_or_patterns_nothing_matches() -> None:
    assert SampledDocuments().match_bits([Pattern.of_path("/a")]) == [0]
    assert SampledDocuments.of([b"<a/>"]).match_bits([]) == []
