"""A stream is cut into records in little memory, however long it is and whatever is in it."""

from __future__ import annotations

import pytest

from support.fixtures.memory import measures_memory, told_by

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
tell(records=cut(size), growth=memory_peak() - before)
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
    found = told_by(PROGRAM, begin=begin, repeat=repeat, end=end, size=DOCUMENT_BYTES)
    assert found["records"] >= records_min
    assert found["growth"] < GROWTH_BYTES_MAX
