"""A stream is cut into records in bounded memory."""

from __future__ import annotations

import pytest

from support.fixtures.memory import measures_memory, run_and_measure

pytestmark = measures_memory

MIB = 1 << 20
DOCUMENT_BYTES = 64 * MIB
GROWTH_BYTES_MAX = 16 * MIB

PROGRAM = """
from penstock.documents import cut_records

def cut(size):
    steps = (("", "a"), ("", "b"))
    document = repeated(**given, size=size)
    return sum(1 for _ in cut_records(document, steps, record_bytes=1 << 20))

size = given.pop("size")
cut(4 << 20)
before = memory_peak()
report(records=cut(size), growth=memory_peak() - before)
"""


@pytest.mark.parametrize(
    ("begin", "repeat", "end", "records_min"),
    [
        ("<a xmlns:p='urn:p'>", f"<b c='1'>{'two' * 200}</b>\n", "</a>", 100_000),
        # Too long for a record, well-formed or not; and not a record.
        ("<a><b>", "some <i>text</i> é ", "</b></a>", 1),
        ("<a><b>", "some <i>text</i> é ", "</a>", 1),
        ("<a>", "<c>other</c>", "</a>", 0),
        ("<!--", "before the root ", "--><a><b/></a>", 1),
    ],
)
def test_memory_does_not_grow_with_the_stream(
    begin: str, repeat: str, end: str, records_min: int
) -> None:
    found = run_and_measure(PROGRAM, begin=begin, repeat=repeat, end=end, size=DOCUMENT_BYTES)
    assert found["records"] >= records_min
    assert found["growth"] < GROWTH_BYTES_MAX
