"""Records of real files agree with the elements of lxml."""

from __future__ import annotations

import pytest
from lxml import etree

from penstock.documents import cut_records, read_events
from support.fixtures.canonical import canonical
from support.fixtures.shared_data import shared_data

AUCTIONS = (("", "site"), ("", "regions"), (None, None), ("", "item"))


@pytest.mark.parametrize("chunk_bytes", [1 << 10, 1 << 20])
def test_the_items_of_an_auction_site(chunk_bytes: int) -> None:
    content = shared_data("xmark", "auction.xml").read_bytes()
    chunks = (content[at : at + chunk_bytes] for at in range(0, len(content), chunk_bytes))
    records = list(cut_records(chunks, AUCTIONS))
    found = etree.fromstring(content).findall("regions/*/item")
    assert len(records) == len(found) > 0
    for record, element in zip(records, found, strict=True):
        assert record.content == content[record.start : record.end]
        assert canonical(read_events(record.content)) == canonical(
            read_events(etree.tostring(element, with_tail=False))
        )
