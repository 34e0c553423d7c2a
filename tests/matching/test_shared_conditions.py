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
        ("//title[normalize-space() = 'x{}']", {"17", "9"}),
        ("//item[normalize-space(head/title) = 'x{}']", {"17"}),
        ("//p[normalize-space(@id) = 'x{}']", {"5"}),
        ("//p[normalize-space(text()) = 'x{}']", {"3", "19"}),
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
        ("//p[contains(lower-case(.), 'x{}')]", {"3", "1", "11", "19"}),
        ("//item[contains(lower-case(body/p), 'x{}')]", {"3"}),
        ("//title[string-length() = {}]", {"2", "3"}),
        ("//p[string-length(.) = {}]", {"2", "3"}),
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


@pytest.mark.parametrize(
    ("shape", "found", "verified"),
    [
        ("//title[lower-case(.) = 'x{}']", {"17", "9"}, 3),
        ("//item[lower-case(head/title) = 'x{}']", {"17"}, 2),
        ("//title[translate(., 'XYZ', 'xyz') = 'x{}']", {"17", "9"}, 3),
        ("//title[ends-with(., 'x{}')]", {"17", "9"}, 3),
        ("//title[matches(., '^x{}$')]", {"17", "9"}, 3),
        ("//title[matches(., '^X{}$', 'i')]", {"17", "9"}, 3),
        ("//p[string-length(@id) = {}]", {"0", "2"}, 1),
    ],
)
def test_string_functions_are_looked_up_before_they_are_verified(
    shape: str, found: set[str], verified: int
) -> None:
    """Of many queries, only those are verified whose constant occurs in the text."""
    matches = matched(shape)
    assert set(matches) == found
    assert matches.counters.work.verified == verified


def test_dates_are_looked_up() -> None:
    index = SubscriptionIndex(engine="shared")
    for day in range(1, 29):
        for month in range(1, 13):
            date = f"2018-{month:02}-{day:02}"
            index.add(date, f"/a[xs:date(@d) = xs:date('{date}')]")
            index.add(f"{date}T", f"/a/b[xs:dateTime(.) > xs:dateTime('{date}T00:00:00Z')]")
    matches = index.matcher().match(b"<a d=' 2018-02-03Z'><b>2018-01-03T12:00:00</b><b/></a>")
    assert set(matches) == {"2018-02-03", "2018-01-01T", "2018-01-02T", "2018-01-03T"}
    assert matches.counters.work.verified == 0
