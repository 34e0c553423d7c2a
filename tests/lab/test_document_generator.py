"""Generated documents are valid, reproducible, and have the requested sizes and depths."""

from __future__ import annotations

import hashlib
from io import StringIO

import pytest
from lxml import etree

from penstock.errors import WorkloadError
from penstock.lab.built_in_schemas import SCHEMA_ROOTS, built_in_schema, schema_text
from penstock.lab.workload import DocumentGenerator, DocumentParameters, ValueParameters
from penstock.schema import SchemaGraph

TREE = SchemaGraph.from_dtd("""
    <!ELEMENT tree (node*)>
    <!ELEMENT node (name?, (leaf | node)*)>
    <!ATTLIST node id ID #REQUIRED next IDREF #IMPLIED>
    <!ELEMENT leaf (#PCDATA | bold | italic)*>
    <!ATTLIST leaf lang (en | de) #IMPLIED>
    <!ELEMENT bold (#PCDATA | bold | italic)*>
    <!ELEMENT italic (#PCDATA | bold | italic)*>
    <!ELEMENT name (#PCDATA)>""")


def drawn(count: int = 20, **parameters: float) -> list[etree._Element]:
    generator = DocumentGenerator(TREE, DocumentParameters(**parameters))  # type: ignore[arg-type]
    return [etree.fromstring(document) for document in generator.documents(count)]


def level(element: etree._Element) -> int:
    return 1 + sum(1 for _ in element.iterancestors())


@pytest.mark.parametrize("name", SCHEMA_ROOTS)
def test_documents_are_valid(name: str) -> None:
    validator = etree.DTD(StringIO(schema_text(name)))
    for document in DocumentGenerator(built_in_schema(name)).documents(10, seed=3):
        assert validator.validate(etree.fromstring(document)), validator.error_log


def test_documents_are_reproducible_by_seed() -> None:
    generator = DocumentGenerator(built_in_schema("news"))
    once = list(generator.documents(3, seed=1))
    assert once == list(DocumentGenerator(built_in_schema("news")).documents(3, seed=1))
    assert once[:2] == list(generator.documents(2, seed=1))
    assert once != list(generator.documents(3, seed=2))
    assert len(set(once)) == 3


def test_a_seed_yields_a_recorded_document() -> None:
    # Changing this changes every recorded benchmark, so it must be deliberate.
    document = DocumentGenerator(TREE, DocumentParameters(size_min=500, size_max=900)).document(1)
    assert hashlib.sha256(document).hexdigest()[:16] == "ae4f77317081bf56"


@pytest.mark.parametrize(("size_min", "size_max"), [(4096, 40960), (1000, 1500), (50_000, 60_000)])
def test_sizes_fill_their_range(size_min: int, size_max: int) -> None:
    parameters = DocumentParameters(size_min=size_min, size_max=size_max)
    sizes = [len(one) for one in DocumentGenerator(TREE, parameters).documents(15)]
    assert size_min <= min(sizes)
    assert max(sizes) <= size_max
    assert max(sizes) - min(sizes) > (size_max - size_min) / 2


def test_repeats_bound_the_size_of_a_document() -> None:
    parameters = DocumentParameters(repeats_max=2, levels_max=4)
    for document in DocumentGenerator(TREE, parameters).documents(10):
        root = etree.fromstring(document)
        assert len(document) < parameters.size_min
        assert all(len(node.findall("node")) <= 2 for node in root.iter("tree", "node"))


@pytest.mark.parametrize("levels_max", [2, 5, 9])
def test_levels_are_bounded(levels_max: int) -> None:
    levels = [
        max(level(element) for element in root.iter())
        for root in drawn(levels_max=levels_max, recursion_max=50)
    ]
    assert max(levels) == levels_max


@pytest.mark.parametrize("recursion_max", [1, 2, 4])
def test_recursion_is_bounded_in_each_recursion_group(recursion_max: int) -> None:
    roots = drawn(recursion_max=recursion_max, inlines_mean=3.0, inline_decay=0.9)
    nested_nodes = [
        1 + sum(1 for _ in node.iterancestors("node"))
        for root in roots
        for node in root.iter("node")
    ]
    nested_inlines = [
        1 + sum(1 for _ in inline.iterancestors("bold", "italic"))
        for root in roots
        for inline in root.iter("bold", "italic")
    ]
    assert max(nested_nodes) == recursion_max
    assert max(nested_inlines) == recursion_max


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_probabilities_of_attributes_and_optional_elements(probability: float) -> None:
    roots = drawn(attribute_probability=probability, optional_probability=probability)
    leaves = [leaf for root in roots for leaf in root.iter("leaf")]
    nodes = [node for root in roots for node in root.iter("node")]
    assert len(leaves) > 500
    with_attribute = sum(leaf.get("lang") is not None for leaf in leaves) / len(leaves)
    with_name = sum(node.find("name") is not None for node in nodes) / len(nodes)
    assert with_attribute == pytest.approx(probability, abs=0.06)
    assert with_name == pytest.approx(probability, abs=0.06)


def test_references_point_at_identifiers_of_the_same_document() -> None:
    for root in drawn(attribute_probability=1.0):
        identifiers = [node.get("id") for node in root.iter("node")]
        assert len(set(identifiers)) == len(identifiers)
        assert {node.get("next") for node in root.iter("node")} <= set(identifiers)


def test_values_come_from_a_bounded_set() -> None:
    generator = DocumentGenerator(
        TREE, DocumentParameters(values=ValueParameters(count=5), value_probability=1.0)
    )
    roots = [etree.fromstring(document) for document in generator.documents(10)]
    assert len({name.text for root in roots for name in root.iter("name")}) == 5


def test_empty_values_have_their_probability() -> None:
    names = [name.text for root in drawn(value_probability=0.5) for name in root.iter("name")]
    assert sum(text is None for text in names) / len(names) == pytest.approx(0.5, abs=0.08)


def test_prefixes_are_declared_at_the_root() -> None:
    schema = SchemaGraph.from_dtd(
        "<!ELEMENT p:a (b*)><!ELEMENT b EMPTY>", namespaces={"p": "urn:p", "": "urn:d"}
    )
    root = etree.fromstring(DocumentGenerator(schema).document(0))
    assert {element.tag for element in root.iter()} == {"{urn:p}a", "{urn:d}b"}


def test_required_recursion_terminates() -> None:
    schema = SchemaGraph.from_dtd(
        "<!ELEMENT a (b, (a | (c, a?)))><!ELEMENT b ANY><!ELEMENT c (#PCDATA)>", roots=["a"]
    )
    validator = etree.DTD(
        StringIO("<!ELEMENT a (b,(a|(c,a?)))><!ELEMENT b ANY><!ELEMENT c (#PCDATA)>")
    )
    for document in DocumentGenerator(schema).documents(20):
        assert validator.validate(etree.fromstring(document))


def test_news_documents_have_a_realistic_density() -> None:
    documents = list(DocumentGenerator(built_in_schema("news")).documents(40))
    elements = sum(sum(1 for _ in etree.fromstring(document).iter()) for document in documents)
    assert 50 <= sum(map(len, documents)) / elements <= 100


@pytest.mark.parametrize(
    "parameters",
    [
        {"size_min": 0},
        {"size_min": 10, "size_max": 9},
        {"levels_max": 0},
        {"optional_probability": 1.1},
        {"inline_decay": -0.1},
        {"choice_skew": float("nan")},
        {"words_mean": float("inf")},
    ],
)
def test_parameters_are_validated(parameters: dict[str, float]) -> None:
    with pytest.raises(WorkloadError) as caught:
        DocumentParameters(**parameters)  # type: ignore[arg-type]
    assert caught.value.code == "lab.parameter"


@pytest.mark.parametrize("parameters", [{"count": 0}, {"skew": -1}])
def test_value_parameters_are_checked_too(parameters: dict[str, int]) -> None:
    with pytest.raises(WorkloadError):
        ValueParameters(**parameters)
