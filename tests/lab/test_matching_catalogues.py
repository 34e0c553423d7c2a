"""Catalogues with known correspondences: consistent, matched and integrated as one domain."""

from __future__ import annotations

from itertools import permutations

import pytest

from penstock.lab.matching_catalogues import HELD_BACK, RECORD_NAMES, TUNING, catalogues_of
from penstock.lab.matching_catalogues.annotated_catalogue import NAMES
from penstock.lab.mediation.integration_quality import integration_of, quality_of_integration
from penstock.lab.mediation.pairwise_matching_quality import quality_of
from penstock.mediation import derive, match_schemas
from penstock.schema import Place

COMA_F1 = {TUNING: 78.2, HELD_BACK: 79.6}
"""The F1 of COMA with instances (valentine 1.0.1) at its best threshold, on places with values."""


@pytest.mark.parametrize(("which", "count"), [(TUNING, 8), (HELD_BACK, 8), (RECORD_NAMES, 10)])
def test_every_concept_has_a_place_in_the_inferred_schema(which: str, count: int) -> None:
    catalogues = catalogues_of(which)
    assert len(catalogues) == count
    for each in catalogues:
        assert set(each.concepts.values()) == set(each.schema.places()), each.name
        assert each.document == catalogues_of(which)[catalogues.index(each)].document


def test_no_catalogue_is_in_two_sets() -> None:
    names = [each.name for which in NAMES for each in catalogues_of(which)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("which", [TUNING, HELD_BACK])
def test_matching_with_samples_is_at_least_as_good_as_coma(which: str) -> None:
    *_, f1 = quality_of(catalogues_of(which), with_samples=True, only_values=True)
    assert f1 >= COMA_F1[which]


def test_samples_improve_matching() -> None:
    catalogues = catalogues_of(HELD_BACK)
    without, with_samples = (
        quality_of(catalogues, with_samples=each, only_values=False)[-1] for each in (False, True)
    )
    assert with_samples > without + 5


def test_roots_are_paired_in_every_direction() -> None:
    # A list of courses can also correspond to the list of one department.
    flat = [each for each in catalogues_of(TUNING) if "department" not in each.concepts]
    assert len(flat) == 7
    for local, target in permutations(flat, 2):
        found = match_schemas(
            local.schema, target.schema, local_values=local.values, target_values=target.values
        )
        images = dict(found.matching.pairs)
        assert images[local.concepts["catalogue"]] == target.concepts["catalogue"], local.name
        reached = len(images) - len(derive(local.schema, target.schema, found.matching).unreached)
        assert reached > 0


@pytest.mark.parametrize("which", [TUNING, RECORD_NAMES])
@pytest.mark.parametrize("with_samples", [False, True])
def test_the_courses_of_all_catalogues_become_one_element(which: str, with_samples: bool) -> None:
    catalogues = catalogues_of(which)
    found = integration_of(catalogues, with_samples=with_samples)
    quality = quality_of_integration(catalogues, found)
    assert quality.together == quality.sources == len(catalogues)
    root = Place((found.schema.tree.root.name,))
    for each, matching in zip(catalogues, found.matchings, strict=True):
        assert dict(matching.pairs)[each.concepts["catalogue"]] == root


@pytest.mark.parametrize(
    ("which", "precision", "recall"),
    [(TUNING, 95, 92), (HELD_BACK, 88, 78), (RECORD_NAMES, 90, 92)],
)
def test_integration_with_samples_joins_concepts_and_keeps_others_apart(
    which: str, precision: float, recall: float
) -> None:
    catalogues = catalogues_of(which)
    quality = quality_of_integration(catalogues, integration_of(catalogues, with_samples=True))
    assert quality.precision > precision
    assert quality.recall > recall


def test_joined_pairs_are_counted() -> None:
    alder = catalogues_of(TUNING)[0]
    quality = quality_of_integration([alder] * 2, integration_of([alder] * 2, with_samples=False))
    places = len(list(alder.schema.places()))
    assert (quality.wanted, quality.joined, quality.wrong) == (places, places, 0)
    assert (quality.precision, quality.recall) == (100, 100)
