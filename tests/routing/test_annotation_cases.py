"""Annotations change nothing: generated networks route with them and without, and are compared.

``make fuzz`` compares 100,000 cases; ``benchmarks/results/annotation-cases.txt`` has the result.
"""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.routing import AnnotationKind, AnnotationOptions
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
    assert counts["ignored_annotations"] > 0
