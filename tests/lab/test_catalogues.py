"""The course catalogues: hand-written files are consistent, documents are valid."""

from __future__ import annotations

import pytest

from penstock.documents import Name, read_events
from penstock.errors import WorkloadError
from penstock.lab.catalogues import (
    CATALOGUES,
    Catalogue,
    CatalogueDocuments,
    catalogue,
    global_schema,
    operator_counts,
)
from penstock.lab.catalogues.value_generator import vocabulary_of
from penstock.mediation import derive, rewrite
from penstock.schema import read_tree
from support.fixtures.schema_validation import breaches

ALL = pytest.mark.parametrize("one", CATALOGUES, ids=lambda one: one.name)


def test_the_mappings_have_the_operators_that_the_paper_counts() -> None:
    assert len({each.schema for each in CATALOGUES}) == 40
    assert operator_counts() == {
        "Rename": 89,
        "Insert": 31,
        "ToElement": 17,
        "Upgrade": 6,
        "Downgrade": 3,
        "Exchange": 2,
    }


@ALL
def test_the_rules_find_the_mapping_from_the_matching(one: Catalogue) -> None:
    found = derive(one.schema, global_schema(), one.matching)
    assert found.mapping == one.mapping
    assert found.unreached == ()
    assert found.comparison.extra == ()
    assert {local for local, _ in one.matching.pairs} == set(one.schema.places())


@ALL
def test_documents_are_valid_and_rewritten_ones_match_the_global_schema(one: Catalogue) -> None:
    document = CatalogueDocuments(one).document(4_000, seed=7)
    assert list(breaches(one.schema, read_events(document))) == []
    rewritten = rewrite(one.mapping, read_events(document))
    assert rewritten.unknown == 0
    (tree,) = rewritten.events()
    assert list(breaches(global_schema(), tree)) == []


def test_schema_violations_are_found() -> None:
    tree = read_tree("penstock schema 1\na\n  @n\n  b\n  c* text\n")
    document = b"<a m='1'>text<b/><b/></a>"
    assert sorted(breaches(tree, read_events(document))) == [
        "2 b in a",
        "@m of a",
        "no @n of a",
        "text in a",
    ]
    assert list(breaches(tree, read_events(b"<a n=''><c/></a>"))) == ["no b in a"]
    assert list(breaches(tree, read_events(b"<a n=''><d/></a>"))) == ["d in a"]


@pytest.mark.parametrize("size", [10_000, 40_000, 1_000_000])
def test_documents_have_their_size(size: int) -> None:
    document = CatalogueDocuments(catalogue("grauburg")).document(size, seed=1)
    assert size <= len(document) < size + 10_000


def test_documents_are_reproducible_by_seed() -> None:
    source = CatalogueDocuments(catalogue("tessaro"))
    three = list(source.documents(3, 1_500, seed=5))
    assert three[:2] == list(source.documents(2, 1_500, seed=5))
    assert len(set(three)) == 3


def test_values_are_in_the_language_of_the_catalogue() -> None:
    document = CatalogueDocuments(catalogue("birkenthal")).document(20_000, seed=1).decode()
    assert "Einführung: " in document
    for one in CATALOGUES:
        assert vocabulary_of(one.language).topics


def test_repetitions_can_be_fixed() -> None:
    names = [Name("", name) for name in ("lecturers", "department", "lecturer", "course")]
    source = CatalogueDocuments(catalogue("quillan"), repeats={tuple(names): 6})
    document = source.document(10_000, seed=2).decode()
    assert document.count("<course>") == 6 * document.count("<lecturer>")


def test_an_unknown_catalogue_is_refused_with_a_list_of_names() -> None:
    with pytest.raises(WorkloadError, match="aldermoor") as caught:
        catalogue("opera")
    assert caught.value.code == "lab.catalogue"


def test_a_document_size_below_the_minimum_is_refused() -> None:
    with pytest.raises(WorkloadError) as caught:
        CatalogueDocuments(catalogue("quillan")).document(10, seed=2)
    assert caught.value.code == "lab.parameter"
