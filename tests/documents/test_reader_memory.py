"""A stream is read in bounded memory, even with long texts, comments and sections."""

from __future__ import annotations

import pytest

from support.fixtures.memory import measures_memory, run_and_measure

pytestmark = measures_memory

MIB = 1 << 20
DOCUMENT_BYTES = 128 * MIB
GROWTH_BYTES_MAX = 8 * MIB

PROGRAM = """
from penstock.documents import read_summary

size = given.pop("size")
read_summary(repeated(**given, size=1 << 20))
before = memory_peak()
read_summary(repeated(**given, size=size))
report(growth=memory_peak() - before)
"""


@pytest.mark.parametrize(
    ("begin", "repeat", "end"),
    [
        ("<a>", "some text é ", "</a>"),
        ("<a><![CDATA[", "some <text> é ]] ", "]]></a>"),
        ("<a><!--", "some - comment ", "--></a>"),
        ("<a><?target ", "some ? data ", "?></a>"),
        ("<a>", "<b c='1'>two</b>\r\n", "</a>"),
        ("<?xml version='1.0' encoding='iso-8859-2'?><a>", "<b>two</b>x", "</a>"),
    ],
)
def test_memory_does_not_grow_with_the_document(begin: str, repeat: str, end: str) -> None:
    found = run_and_measure(PROGRAM, begin=begin, repeat=repeat, end=end, size=DOCUMENT_BYTES)
    assert found["growth"] < GROWTH_BYTES_MAX


def test_held_memory_is_measured() -> None:
    # Otherwise the tests above could not fail.
    hoarding = PROGRAM.replace("read_summary(repeated", "held = b''.join(repeated")
    found = run_and_measure(hoarding, begin="<a>", repeat="text ", end="</a>", size=DOCUMENT_BYTES)
    assert found["growth"] > GROWTH_BYTES_MAX
