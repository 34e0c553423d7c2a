"""Annotations change nothing: generated networks route with them and without, and are compared.

``make fuzz`` compares 100,000 cases; ``benchmarks/results/annotation-cases.txt`` has the result.
"""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.routing import AnnotationKind, AnnotationOptions
from penstock.routing.neighbour_router import NeighbourRouter
from support.routing.altered_annotations import AnnouncedSet, AnnouncedSets
from support.routing.annotation_cases import (
    CASES_OF_NETWORK,
    NO_ANNOTATIONS,
    GeneratedAnnotations,
    check_case,
    network_of,
    run_network,
)

PINNED = 20
"""Networks in each run of the tests, with several sets of annotations each."""


@pytest.mark.parametrize("network", range(PINNED))
def test_pinned_cases(network: int) -> None:
    first = network * CASES_OF_NETWORK
    for number in range(first, first + CASES_OF_NETWORK):
        check_case(number)


def counts_of(*kinds: AnnotationKind) -> Counter[str]:
    """What routers do that send these kinds only, compared with routers that send none."""
    options = AnnotationOptions(kinds=frozenset(kinds), is_adaptive=False)
    counts: Counter[str] = Counter()
    for seed in range(1_000, 1_012):
        network = network_of(seed)
        outcome = run_network(network, GeneratedAnnotations(seed, options))
        assert outcome.effects == run_network(network, NO_ANNOTATIONS).effects
        counts += outcome.counts
    assert counts["annotated"] > 20
    return counts


@pytest.mark.parametrize(
    "kinds",
    [("match-list",), ("ps",), ("skeleton",), ("ns", "pd"), ("nd", "ns", "pd")],
    ids="-".join,
)
def test_kinds_save_work_and_change_nothing(kinds: tuple[str, ...]) -> None:
    # Otherwise the comparison would hold for routers that ignore annotations.
    counts = counts_of(*map(AnnotationKind, kinds))
    assert counts["not_read"] + counts["read_in_part"] > 0


@pytest.mark.parametrize("kind", ["nd", "ns", "pd"])
def test_kinds_that_rarely_decide_everything_change_nothing(kind: str) -> None:
    counts_of(AnnotationKind(kind))


def test_cases_are_not_vacuous() -> None:
    counts = sum((check_case(number) for number in range(2_000, 2_024)), Counter[str]())
    assert counts["deliveries"] > 100
    assert counts["dead"] > 0
    assert counts["altered"] > 0
    assert counts["outdated"] > 0
    assert counts["forged"] > 20, "headers that name what their receivers announce"
    assert counts["ignored_annotations"] > 0


def failing_cases() -> int:
    """How many of some cases annotations change."""
    failed = 0
    for number in range(2_000, 2_024):
        try:
            check_case(number)
        except AssertionError:
            failed += 1
    return failed


def test_forged_annotations_of_trusted_neighbours_would_change_deliveries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Otherwise the cases would hold for forged headers that no router can use.
    def authenticate(neighbour: NeighbourRouter, *, is_authenticated: bool) -> None:
        neighbour.is_authenticated, neighbour.is_trusted = is_authenticated, True

    monkeypatch.setattr(NeighbourRouter, "authenticate", authenticate)
    assert failing_cases() > 2


def test_annotations_of_outdated_sets_would_change_deliveries_if_they_were_current(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def outdated(sets: AnnouncedSets, receiver: str, sender: str) -> list[AnnouncedSet]:
        return [sets.current(receiver, sender)]

    monkeypatch.setattr(AnnouncedSets, "outdated", outdated)
    assert failing_cases() > 0
