"""The built-in schemas have their documented properties."""

from __future__ import annotations

from io import StringIO

import pytest
from lxml import etree

from penstock.errors import WorkloadError
from penstock.lab.built_in_schemas import SCHEMA_ROOTS, built_in_schema, schema_text

ELEMENTS = {
    "news": 120,
    "protein": 66,
    "customers": 78,
    "bibliography": 36,
    "treebank": 100,
    "auctions": 66,
}


@pytest.mark.parametrize("name", SCHEMA_ROOTS)
def test_a_built_in_schema_has_its_elements_and_one_root(name: str) -> None:
    schema = built_in_schema(name)
    assert len(schema.elements) == ELEMENTS[name]
    assert schema.root_labels == (SCHEMA_ROOTS[name],)
    contained = {child for element in schema.elements.values() for child in element.children}
    assert set(schema.elements) - contained <= set(schema.root_labels), "an element is unreachable"


@pytest.mark.parametrize("name", SCHEMA_ROOTS)
def test_libxml_reads_every_built_in_schema(name: str) -> None:
    validator = etree.DTD(StringIO(schema_text(name)))
    assert not validator.validate(etree.Element("unknown"))


def test_an_unknown_schema_is_refused_with_a_list_of_names() -> None:
    with pytest.raises(WorkloadError, match="news") as caught:
        built_in_schema("opera")
    assert caught.value.code == "lab.schema"
