"""A stream is read in little memory, however long its text, comments and sections are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the reference holds documents whole")

MIB = 1 << 20
DOCUMENT_BYTES = 128 * MIB
GROWTH_BYTES_MAX = 8 * MIB

PROGRAM = """
import resource, sys
from penstock.documents import read_summary

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def document(begin, repeat, end, size):
    yield begin
    block = repeat * (65536 // len(repeat))
    for _ in range(size // len(block)):
        yield block
    yield end

begin, repeat, end = (part.encode("utf-8") for part in sys.argv[1:4])
read_summary(document(begin, repeat, end, 1 << 20))
before = peak()
read_summary(document(begin, repeat, end, int(sys.argv[4])))
print(peak() - before)
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
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, begin, repeat, end, str(DOCUMENT_BYTES)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < GROWTH_BYTES_MAX
