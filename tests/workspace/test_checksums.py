"""Checksums and digests, natively and by the standard library."""

from __future__ import annotations

import hashlib
import zlib
from types import ModuleType

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.native import native
from penstock.workspace import checksums
from penstock.workspace.checksums import crc32, sha256_each
from penstock.workspace.delivery_ids import delivery_ids


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_checksums_are_those_of_zlib(first: bytes, second: bytes) -> None:
    assert crc32(second, crc32(first)) == zlib.crc32(first + second)
    assert crc32(pa.py_buffer(first)) == zlib.crc32(first)


@pytest.mark.parametrize("core", [native, None])
def test_digests_are_those_of_hashlib(
    core: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "native", core)
    texts = ["", "a", "\N{GREEK SMALL LETTER ALPHA}" * 100, "b" * 64]
    array: pa.LargeStringArray = pa.array(["before", *texts, "after"], pa.large_string())
    expected = b"".join(hashlib.sha256(text.encode()).digest() for text in texts)
    assert sha256_each(array.slice(1, len(texts))) == expected
    assert sha256_each(array.slice(2, 0)) == b""
    assert crc32(b"journal") == zlib.crc32(b"journal")


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_ids_of_deliveries_are_hashes_of_document_and_subscription(
    pairs: list[tuple[str, str]],
) -> None:
    documents, subscriptions = (
        pa.array([pair[side] for pair in pairs], pa.string()) for side in (0, 1)
    )
    hashes = [hashlib.sha256("\x1f".join(pair).encode()).hexdigest() for pair in pairs]
    found = delivery_ids(documents, subscriptions).to_pylist()
    assert found == [each[:32] for each in hashes]
