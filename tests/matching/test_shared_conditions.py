"""Subscriptions that differ only in a constant share a condition and are looked up by value."""

from __future__ import annotations

import pytest

from penstock import Matches, SubscriptionIndex
from support.contracts.native_engines import needs_native

pytestmark = needs_native

MANY = 20_000
DOCUMENT = (
    b"<news><item><head><title>x17</title><title>x9</title></head><body><p>x3</p>"
    b"<p id='x5'>x<b>1</b>1</p><p>x<![CDATA[1]]>9</p></body></item></news>"
)


def matched(shape: str) -> Matches:
    """The matches of :data:`DOCUMENT` among many queries, each with its own number for ``{}``."""
    index = SubscriptionIndex(engine="shared")
    numbers = [str(number) for number in range(MANY)]
    assert index.add_many(numbers, [shape.replace("{}", number) for number in numbers]) == {}
    return index.matcher().match(DOCUMENT)


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ("/news/item[head/title = 'x{}']", {"17", "9"}),
        ("/news[item/head/title = 'x{}']/item/body", {"17", "9"}),
        ("/news[item//title = 'x{}']", {"17", "9"}),
        ("//item[.//p = 'x{}']", {"3", "11", "19"}),
        ("//item[*/p = 'x{}']", {"3", "11", "19"}),
        ("//item[body/p/text() = 'x{}']", {"3", "19"}),
        ("//item[body//text() = '{}']", {"1"}),
        ("//item[body/p/@id = 'x{}']", {"5"}),
        ("//item[.//@id = 'x{}']", {"5"}),
        ("//item[.//@* = 'x{}']", {"5"}),
        ("//item//@id[. = 'x{}']", {"5"}),
        ("//item[head/title = 'x{}' or body/p = 'x{}']", {"17", "9", "3", "11", "19"}),
        ("//item[body/p/b = {}][head]", {"1"}),
        ("//p[contains(., 'x{}')]", {"3", "1", "11", "19"}),
        ("//item[contains(body/p, 'x{}')]", {"3"}),
        ("//item[body/p[contains(., 'x{}')]]", {"3", "1", "11", "19"}),
        ("//item[body/p[starts-with(text(), 'x{}')]]", {"3", "1", "19"}),
        ("//p[starts-with(@id, 'x{}')]", {"5"}),
        ("//item[body/p[@id = 'x{}'][b = '1']]", {"5"}),
        ("//item[body/p[@id = 'x{}'][. = 'x{}']]", set()),
        ("//item[body[p = 'x{}'][p/b]/p/@id]", {"3", "11", "19"}),
        ("//item[contains(.//@id, '{}') or head/title = 'x{}']", {"5", "17", "9"}),
    ],
)
def test_constants_are_looked_up(shape: str, found: set[str]) -> None:
    matches = matched(shape)
    assert set(matches) == found
    assert matches.counters.work.verified == 0


def test_only_queries_found_by_their_constant_are_verified() -> None:
    """Conditions that cannot be shared are verified, but only where the rest of the query holds."""
    matches = matched("//item[head/title[. = 'x{}'][not(b)]]")
    assert set(matches) == {"17", "9"}
    assert matches.counters.work.verified == 2
