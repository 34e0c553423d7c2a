"""Random trees of routers, subscriptions and documents."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Final

from penstock.documents import Document, Header
from penstock.mediation import Mapping
from penstock.mediation.mapping_table import MappingTable
from penstock.routing import LocalSubscription
from support.strategies.tiny_documents import random_document

PATHS: Final = (
    "/a",
    "//b",
    "/a/b",
    "/a//c",
    "//a[b]",
    "//b[@p]",
    "//c[@q = 2]",
    "//c[@q > 1]",
    "/*/c",
    "//b[. = 'x']",
    "/a[not(b)]",
    "/b | //c[@p = 'xy']",
    "//a/b | /c/a | //c/c",
    "//*[@p = 'x']/b",
    "//b[1]",
)
KEYWORDS: Final = ("x", "xy", "x y", "x OR xy", '"x y"', "a 10", "y OR 2")
VALUES: Final = ("", "x", "xy", "y", "1", "2", "10", "x y")
MAPPINGS: Final = {
    "local": Mapping.from_text(
        """penstock mapping 1
a
  => rename b
  b*
    => rename c
    @p
  c*
    @q
    => to-element @q
"""
    )
}
"""The mappings of documents, by schema. Documents of that schema rarely conform to it."""

MAPPING_TABLE: Final = MappingTable(
    {("", schema): mapping.digest for schema, mapping in MAPPINGS.items()},
    texts={mapping.digest: mapping.to_text() for mapping in MAPPINGS.values()},
)
MALFORMED: Final = (b"<a><b></a>", b"", b"<a/><b/>", b"<a>&unknown;</a>")


def random_tree(chance: random.Random, count: int) -> list[tuple[str, str]]:
    """The links of a tree of routers ``r0``, ``r1`` and so on."""
    return [(f"r{chance.randrange(each)}", f"r{each}") for each in range(1, count)]


def random_subscription(chance: random.Random, number: int, now: datetime) -> LocalSubscription:
    """A path, a union or keywords; some with header tests or an activity window."""
    is_path = chance.random() < 0.7
    starts = now + timedelta(seconds=chance.randrange(40)) if chance.random() < 0.1 else None
    expires = now + timedelta(seconds=chance.randrange(50, 90)) if chance.random() < 0.1 else None
    return LocalSubscription(
        id=f"s{number}",
        subscriber=f"subscriber {number % 3}",
        kind="xpath" if is_path else "keywords",
        query=chance.choice(PATHS if is_path else KEYWORDS),
        where=chance.choice(({}, {}, {"lang": "en"}, {"lang": "de"})),
        returns=chance.choice(("document", "fragments")),
        starts_at=starts,
        expires_at=expires,
    )


def random_content(chance: random.Random, malformed: float) -> bytes:
    """The bytes of a small document."""
    if chance.random() < malformed:
        return chance.choice(MALFORMED)
    return random_document(chance, values=VALUES, depth=chance.randrange(4)).encode()


def document_of(chance: random.Random, publisher: str, number: int, content: bytes) -> Document:
    """A document of a publisher, with a number as its id."""
    fields = chance.choice(({}, {"lang": "en"}, {"lang": "de"}))
    schema = chance.choice(("", "", "local"))
    header = Header(publisher=publisher, id=str(number), schema=schema, fields=fields)
    return Document(content, header)
