"""Huge documents are valid, have their size, and are generated in bounded memory."""

from __future__ import annotations

import tracemalloc
from io import StringIO

import pytest
from lxml import etree

from penstock.errors import WorkloadError
from penstock.lab.built_in_schemas import SCHEMA_ROOTS, built_in_schema, schema_text
from penstock.lab.workload import huge_document
from penstock.lab.workload.huge_documents import CHUNK_SIZE_MIN, REPETITION_SIZE_MAX
from penstock.schema import SchemaGraph


@pytest.mark.parametrize("name", SCHEMA_ROOTS)
def test_huge_documents_are_valid_and_have_their_size(name: str) -> None:
    chunks = list(huge_document(built_in_schema(name), 400_000, seed=2))
    document = b"".join(chunks)
    assert 400_000 <= len(document) <= 400_000 + 2 * REPETITION_SIZE_MAX
    assert all(len(chunk) >= CHUNK_SIZE_MIN for chunk in chunks[:-2])
    validator = etree.DTD(StringIO(schema_text(name)))
    assert validator.validate(etree.fromstring(document)), validator.error_log


def test_huge_documents_are_reproducible_by_seed() -> None:
    news = built_in_schema("news")
    once = b"".join(huge_document(news, 200_000, seed=1))
    assert once == b"".join(huge_document(news, 200_000, seed=1))
    assert once != b"".join(huge_document(news, 200_000, seed=2))


def test_memory_does_not_grow_with_size() -> None:
    def peak(size_bytes: int) -> int:
        tracemalloc.start()
        for _ in huge_document(built_in_schema("customers"), size_bytes):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    small = peak(1_000_000)
    assert peak(10_000_000) < small + 1_000_000


def test_identifiers_never_repeat() -> None:
    root = etree.fromstring(b"".join(huge_document(built_in_schema("bibliography"), 300_000)))
    keys = [record.get("key") for record in root]
    assert len(keys) > 500
    assert len(set(keys)) == len(keys)


def test_a_schema_in_which_nothing_repeats_is_refused() -> None:
    schema = SchemaGraph.from_dtd("<!ELEMENT a (b?)><!ELEMENT b (#PCDATA)>")
    with pytest.raises(WorkloadError, match="nothing repeats") as caught:
        next(huge_document(schema, 1000))
    assert caught.value.code == "lab.exhausted"
