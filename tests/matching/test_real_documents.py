"""Real documents: every engine selects what the reference selects, and the attacks are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from penstock import Matcher, SubscriptionIndex
from support.contracts.native_engines import native_engines
from support.fixtures.shared_data import shared_data

QUERIES: Final[Mapping[str, Sequence[str]]] = {
    "cap": (
        "/*:alert",
        "//*:info[*:severity = 'Severe' or *:severity = 'Extreme']/*:headline",
        "/cap:alert[cap:status = 'Actual'][not(cap:references)]/cap:info/cap:area",
        "//*:parameter[*:valueName = 'EventLocationName']/*:value",
        "//*:info[*:language][last()]",
        "//*:area[contains(*:polygon, ',')]/*:areaDesc/text()",
        "//*:magnitude[. > 2] | //*:description[starts-with(., 'A')]",
        "/atom:feed/atom:entry[position() <= 2]/atom:title",
        "//*[@xml:base or @type = 'html']",
        "//@*:Algorithm",
    ),
    "iso20022": (
        "/Document",
        "//*:Document",
        "//*:AppHdr[*:MsgDefIdr[starts-with(., 'pacs.008')]]",
        "//*[@Ccy = 'USD'][. >= 10000]",
        "//*:GrpHdr/*:NbOfTxs[. = 1]",
        "//*:BICFI[not(. = 'MLCOUS33XXX')]/text()",
        "//*:SplmtryData//*[not(*)]",
        "//*[contains(text(), '<')]",
        "//@*[. = 'USD']",
    ),
    "newsml-g2": (
        "/nar:newsItem[@xml:lang = 'en-GB']/nar:itemMeta/nar:service/nar:name",
        "//nar:subject[@type = 'cpnat:abstract'][nar:name]/@qcode",
        "//nar:catalogRef[2]",
        "//nar:*[@qcode = 'stat:usable']",
        "//nar:broader//nar:name[last()]",
        "//nar:inlineXML//*:body.head[*:hedline/*:hl1]/*:byline",
        "//*:remoteContent[@width > 1000 and @height > 500]/@href",
        "//nar:link[not(@rel = 'irel:seeAlso')] | //nar:headline[contains(., 'Fed')]",
        "//*:groupSet[*:group/*:groupRef]/@root",
    ),
    "xmark": (
        "/site/regions//item[quantity > 1]/name",
        "//item[incategory/@category = 'category4'][mailbox/mail]/@id",
        "//person[profile[@income > 50000][interest]]/emailaddress",
        "//open_auction[bidder[2][increase >= 3]]/current/text()",
        "//closed_auction[not(annotation/happiness < 5)]",
        "//listitem//listitem[position() != last()]/text[keyword][1]",
        "//parlist/listitem[last()]//emph | //text/bold/keyword",
        "//*[starts-with(@id, 'person1')]",
        "/site/people/person[address/country = 'United States']/watches/watch[last()]",
        "//description[text[contains(., 'gold')]] | //none",
    ),
}
"""Typical queries for each folder; each query selects something in some document."""

NAMESPACES: Final = {
    "cap": "urn:oasis:names:tc:emergency:cap:1.1",
    "atom": "http://www.w3.org/2005/Atom",
    "nar": "http://iptc.org/std/nar/2006-10-01/",
}


def matcher(engine: str, folder: str) -> Matcher:
    index = SubscriptionIndex(engine=engine)
    queries = QUERIES[folder]
    assert index.add_many(queries, queries, namespaces=NAMESPACES) == {}
    return index.matcher()


def documents(folder: str) -> list[Path]:
    names = ("*.xml", "*.cap", "*.atom", "*.rss", "*.edxlde")
    return sorted(path for name in names for path in shared_data(folder).glob(name))


@pytest.mark.parametrize("engine", native_engines)
@pytest.mark.parametrize("folder", QUERIES)
def test_every_engine_selects_the_same_as_the_reference(folder: str, engine: str) -> None:
    reference, native = matcher("reference", folder), matcher(engine, folder)
    for path in documents(folder):
        expected = reference.match_file(path, fragments=True)
        matches = native.match_file(path, fragments=True)
        assert set(matches) == set(expected), path.name
        assert matches.fragments == expected.fragments, path.name
        assert bool(matches.errors) == bool(expected.errors), path.name


@pytest.mark.parametrize("folder", QUERIES)
def test_each_query_matches_some_documents(folder: str) -> None:
    reference = matcher("reference", folder)
    seen = {found for path in documents(folder) for found in reference.match_file(path)}
    assert set(QUERIES[folder]) - seen == set()


@pytest.mark.parametrize("engine", ["reference", *native_engines])
@pytest.mark.parametrize("name", ["xee.cap", "xee.atom"])
def test_attacks_by_external_entities_are_refused(engine: str, name: str) -> None:
    matches = matcher(engine, "cap").match_file(shared_data("cap", name))
    assert matches.ids == ()
    assert len(matches.errors) == 1
