"""A stream is cut into records in little memory, however long it is and whatever is in it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the reference holds documents whole")

MIB = 1 << 20
DOCUMENT_BYTES = 64 * MIB
GROWTH_BYTES_MAX = 16 * MIB

PROGRAM = """
import resource, sys
from penstock.documents import cut_records

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def document(begin, repeat, end, size):
    yield begin
    block = repeat * (65536 // len(repeat))
    for _ in range(size // len(block)):
        yield block
    yield end

def cut(size):
    steps = (("", "a"), ("", "b"))
    return sum(1 for _ in cut_records(document(begin, repeat, end, size), steps, record_bytes=MIB))

MIB = 1 << 20
begin, repeat, end = (part.encode("utf-8") for part in sys.argv[1:4])
cut(4 * MIB)
before = peak()
records = cut(int(sys.argv[4]))
print(records, peak() - before)
"""


@pytest.mark.parametrize(
    ("begin", "repeat", "end", "records_min"),
    [
        ("<a xmlns:p='urn:p'>", f"<b c='1'>{'two' * 200}</b>\n", "</a>", 100_000),
        # Too long to be a record, broken or not; and no record at all.
        ("<a><b>", "some <i>text</i> é ", "</b></a>", 1),
        ("<a><b>", "some <i>text</i> é ", "</a>", 1),
        ("<a>", "<c>other</c>", "</a>", 0),
        ("<!--", "before the root ", "--><a><b/></a>", 1),
    ],
)
def test_memory_does_not_grow_with_the_stream(
    begin: str, repeat: str, end: str, records_min: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, begin, repeat, end, str(DOCUMENT_BYTES)],
        capture_output=True,
        text=True,
        check=True,
    )
    records, growth = map(int, done.stdout.split())
    assert records >= records_min
    assert growth < GROWTH_BYTES_MAX
