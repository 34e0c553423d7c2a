"""Line numbers of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.matching import line_numbers as lines
from penstock.matching.line_numbers import Lines

CODECS = {"utf-8": "utf-8", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}

texts = st.lists(st.sampled_from(("\n", "\r", "\r\n", "a", "é", "\u0d0a", "\u0a00")), max_size=12)


@pytest.mark.parametrize("block_bytes", [2, 4, 1 << 20])
@given(texts.map("".join))
def test_every_line_end_counts_once(block_bytes: int, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", block_bytes)
        for encoding, codec in CODECS.items():
            document = text.encode(codec)
            counted = Lines(document, encoding)
            for at, character in enumerate(text):
                if character in "\r\n":
                    continue
                before = text[:at].replace("\r\n", "\n").replace("\r", "\n")
                assert counted.at(len(text[:at].encode(codec))) == 1 + before.count("\n")


def test_a_document_larger_than_a_block() -> None:
    document = b"<a>" + b"\r\n" * (1 << 20) + b"</a>"
    assert Lines(document, "utf-8").at(len(document) - 4) == (1 << 20) + 1
    assert Lines(document, "utf-8").at(3 + 2 * 5) == 6
