"""Real documents are read as by lxml."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from penstock.documents import Name, read_events
from penstock.errors import DocumentError
from support.fixtures.canonical import Meaning, canonical
from support.fixtures.shared_data import DATA_SETS, shared_data

ATTACKS = {"xee.atom", "xee.cap"}
SUFFIXES = {".xml", ".cap", ".atom", ".rss", ".edxlde"}


def documents() -> list[Path]:
    folders = [shared_data(name) for name in DATA_SETS if not name.endswith(".zip")]
    return sorted(
        path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES
    )


def name_of(tag: str) -> Name:
    found = etree.QName(tag)
    return Name(found.namespace or "", found.localname)


def by_lxml(element: etree._Element) -> Meaning:
    attributes = sorted((name_of(str(key)), str(value)) for key, value in element.attrib.items())
    meaning: Meaning = [(name_of(str(element.tag)), tuple(attributes))]
    text = element.text or ""
    for child in element:
        if isinstance(child.tag, str):
            meaning += [text] if text else []
            meaning += by_lxml(child)
            text = ""
        text += child.tail or ""
    meaning += [text] if text else []
    return [*meaning, None]


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_alerts_with_external_entities_are_refused(name: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_events(shared_data("cap", name).read_bytes())
    assert caught.value.code == "entity.external"


def test_real_documents_are_read_as_by_lxml() -> None:
    read = 0
    for path in documents():
        content = path.read_bytes()
        try:
            root = etree.fromstring(content)
        except etree.XMLSyntaxError:
            with pytest.raises(DocumentError):
                read_events(content)
            continue
        if path.name in ATTACKS:
            continue
        assert canonical(read_events(content)) == by_lxml(root), path.name
        read += 1
    assert read > 60
