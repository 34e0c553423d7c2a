"""Catalogues with known correspondences: consistent, matched and integrated as one domain."""

from __future__ import annotations

from itertools import permutations

import pytest

from penstock.lab.matching_catalogues import HELD_BACK, TUNING, catalogues_of
from penstock.lab.mediation.pairwise_matching_quality import quality_of
from penstock.mediation import derive, integrate, match_schemas
from penstock.schema import Place

COMA_F1 = {TUNING: 78.2, HELD_BACK: 79.6}
"""The F1 of COMA with instances (valentine 1.0.1) at its best threshold, on places with values."""


@pytest.mark.parametrize("which", [TUNING, HELD_BACK])
def test_every_concept_has_a_place_in_the_inferred_schema(which: str) -> None:
    catalogues = catalogues_of(which)
    assert len(catalogues) == 8
    for each in catalogues:
        assert set(each.concepts.values()) == set(each.schema.places()), each.name
        assert each.document == catalogues_of(which)[catalogues.index(each)].document


def test_no_catalogue_is_in_both_sets() -> None:
    names = [each.name for which in (TUNING, HELD_BACK) for each in catalogues_of(which)]
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


def test_the_courses_of_eight_catalogues_become_one_element() -> None:
    catalogues = catalogues_of(TUNING)
    found = integrate("courses", [each.schema for each in catalogues])
    root = Place((found.schema.tree.root.name,))
    courses = set()
    for each, matching in zip(catalogues, found.matchings, strict=True):
        images = dict(matching.pairs)
        assert images[each.concepts["catalogue"]] == root
        courses.add(images[each.concepts["course"]])
    assert len(courses) == 1
