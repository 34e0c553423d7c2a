"""The forty course catalogues, matched with the global schema and integrated without it."""

from __future__ import annotations

from penstock.lab.catalogues import CATALOGUES, global_schema
from penstock.mediation import derive, integrate, match_schemas


def test_precision_and_recall_against_the_hand_written_matchings() -> None:
    proposed = right = wrong_and_certain = by_hand = 0
    for catalogue in CATALOGUES:
        wanted = set(catalogue.matching.pairs)
        found = match_schemas(catalogue.schema, global_schema()).matching
        proposed += len(found.pairs)
        by_hand += len(wanted)
        right += len(wanted & set(found.pairs))
        wrong_and_certain += len(set(found.pairs) - wanted - set(found.uncertain))
    assert right / proposed > 0.95
    assert right / by_hand > 0.85
    assert wrong_and_certain / proposed < 0.01


def test_forty_schemas_are_integrated_with_mappings() -> None:
    schemas = [catalogue.schema for catalogue in CATALOGUES]
    found = integrate("courses", schemas)
    spelt = {str(place) for place in found.schema.tree.places()}
    assert {"/catalogue/department/course/title", "/catalogue/department/course/code"} <= spelt
    pairs = sum(len(matching.pairs) for matching in found.matchings)
    assert pairs > 5 * len(spelt), "most places are shared by many"
    unreached = sum(
        len(derive(local, found.schema.tree, matching).unreached)
        for local, matching in zip(schemas, found.matchings, strict=True)
    )
    assert unreached / pairs < 0.1
