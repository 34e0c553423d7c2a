"""Networks of routers with faults: every subscriber gets every matching document once, in order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ERRORS
from penstock.routing import (
    AggregateDelta,
    AggregatedSet,
    AnnotationKind,
    AnnotationOptions,
    OverflowPolicy,
    RouterLimits,
    SampledDocuments,
    interest_announcer,
)
from penstock.routing.neighbour_router import NeighbourRouter
from support.routing.network_simulator import (
    NetworkSimulator,
    SimulationOptions,
)

FEW_PATTERNS = 4
"""A bound of aggregated sets at which nearly everything is merged."""

frequencies = st.sampled_from((0, 1, 4))

all_options = st.builds(
    SimulationOptions,
    routers=st.integers(1, 8),
    publishers=st.integers(1, 4),
    aggregate_nodes=st.sampled_from((FEW_PATTERNS, 12, 1_000)),
    delay_seconds_max=st.sampled_from((0.0, 2.0, 20.0)),
    publish=st.sampled_from((8, 30)),
    break_link=frequencies,
    reset_session=frequencies,
    restart=frequencies,
    crash_before_commit=frequencies,
    partition=frequencies,
    is_authenticated=st.booleans(),
    annotations=st.builds(
        AnnotationOptions,
        kinds=st.frozensets(st.sampled_from(AnnotationKind)),
        is_adaptive=st.booleans(),
        uses_received=st.sampled_from((True, True, False)),
        verified_share=st.sampled_from((0.0, 0.5)),
    ),
)


def simulate(seed: int, options: SimulationOptions, *, rounds: int = 3) -> NetworkSimulator:
    """Rounds of traffic and faults, after each of which the network settles and is checked."""
    network = NetworkSimulator(seed, options)
    for _ in range(rounds):
        network.run(100)
        network.settle()
        network.check()
    assert network.distrusted == [], "altered annotations are recognised, and the others are right"
    return network


@pytest.mark.parametrize("seed", range(24))
def test_pinned_seeds(seed: int) -> None:
    bound = FEW_PATTERNS if seed % 3 == 0 else 1_000
    network = simulate(seed, SimulationOptions(routers=1 + seed % 8, aggregate_nodes=bound))
    assert network.checker.missing() == set()


@pytest.mark.parametrize("seed", range(6))
def test_interests_that_follow_a_synopsis(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interest_announcer, "SYNOPSIS_FIRST_DOCUMENTS", 1)
    monkeypatch.setattr(interest_announcer, "SYNOPSIS_GENERATION_DOCUMENTS", 3)
    resampled = []
    original = AggregatedSet.resample

    def resample(members: AggregatedSet, sample: SampledDocuments) -> AggregateDelta:
        resampled.append(len(sample))
        return original(members, sample)

    monkeypatch.setattr(AggregatedSet, "resample", resample)
    options = SimulationOptions(routers=5, aggregate_nodes=FEW_PATTERNS, subscribe=8, publish=20)
    network = simulate(seed, options)
    assert network.checker.missing() == set()
    assert max(resampled) > 3


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), all_options)
def test_any_network(seed: int, options: SimulationOptions) -> None:
    assert simulate(seed, options, rounds=2).checker.missing() == set()


def test_pinned_seeds_require_deliveries() -> None:
    # Otherwise the checks would hold in a network that delivers nothing.
    network = simulate(7, SimulationOptions(routers=5, subscribe=10, publish=20))
    assert network.checker.required() > 50
    assert network.dead
    assert sum(router.counters.duplicates for router in network.routers.values()) > 0


def test_annotations_spare_reading() -> None:
    # Otherwise the checks would hold in a network that ignores annotations.
    network = simulate(7, SimulationOptions(routers=6, subscribe=10, publish=30, unsubscribe=1))
    counters = [router.counters for router in network.routers.values()]
    assert sum(each.not_read for each in counters) > 50
    assert sum(each.ignored_annotations for each in counters) > 0
    assert network.annotation_bytes > 0


@pytest.mark.parametrize("seed", range(4))
def test_forged_annotations_change_nothing(seed: int) -> None:
    options = SimulationOptions(routers=6, subscribe=10, publish=30, altered_share=1.0)
    network = simulate(seed, replace(options, is_authenticated=False), rounds=2)
    assert network.checker.missing() == set()
    assert network.forged_headers > 20, "they name what their receivers announce"
    assert sum(router.counters.not_read for router in network.routers.values()) == 0


@pytest.mark.parametrize("seed", range(4))
def test_annotations_of_an_outdated_set_change_nothing(seed: int) -> None:
    options = SimulationOptions(routers=6, subscribe=10, publish=30, altered_share=0.5)
    network = simulate(seed, options, rounds=2)
    assert network.checker.missing() == set()
    assert network.outdated_headers > 10


def test_forged_annotations_of_a_trusted_neighbour_would_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Otherwise the tests above would hold for forged headers that no router can use.
    def authenticate(neighbour: NeighbourRouter, *, is_authenticated: bool) -> None:
        neighbour.is_authenticated, neighbour.is_trusted = is_authenticated, True

    monkeypatch.setattr(NeighbourRouter, "authenticate", authenticate)
    options = SimulationOptions(routers=6, subscribe=10, publish=30, altered_share=1.0)
    with pytest.raises(AssertionError):
        simulate(0, replace(options, is_authenticated=False), rounds=2)


@pytest.mark.parametrize("seed", range(4))
def test_restart_after_any_input(seed: int) -> None:
    network = NetworkSimulator(seed, SimulationOptions(routers=4, subscribe=8, connect=20))
    for _ in range(2):
        for _ in range(100):
            network.run(1)
            network.restart_one(f"r{network.step_number % 4}")
        network.settle()
        network.check()
    assert network.checker.missing() == set()


@pytest.mark.parametrize("seed", range(4))
def test_settled_network_without_merging_has_no_false_forwards(seed: int) -> None:
    options = SimulationOptions(routers=6, subscribe=1, unsubscribe=0, publish=0, publish_again=0)
    network = NetworkSimulator(seed, options.without_faults())
    network.settle()
    for _ in range(8):
        network.subscribe()
        network.settle()
        network.publish()
        network.settle()
    network.check()
    assert network.checker.missing() == set()
    assert network.false_forwards == 0


def test_false_forwards_are_counted() -> None:
    options = SimulationOptions(routers=4, aggregate_nodes=1, subscribe=10, malformed_share=0)
    network = simulate(3, options.without_faults())
    assert network.false_forwards > 0


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_known_of_subscriptions_that_left(seed: int) -> None:
    network = simulate(seed, SimulationOptions(routers=5, subscribe=10), rounds=1)
    network.unsubscribe_all()
    network.settle()
    network.check()
    assert network.interests() == {()}


@pytest.mark.parametrize("seed", range(6))
def test_router_that_lost_its_state_misses_nothing_afterwards(seed: int) -> None:
    # With its state it forgets which documents it has delivered, so none is repeated here.
    options = SimulationOptions(routers=5, subscribe=10, publish_again=0)
    network = simulate(seed, options, rounds=1)
    for name in ("r0", "r1", "r2"):
        network.acknowledge_all()
        network.lose_state(name)
        for _ in range(5):
            network.publish()
            network.run(5)
        network.settle()
        network.check()
    assert network.checker.missing() == set()


@pytest.mark.parametrize("policy", ["discard-oldest", "discard-newest"])
@pytest.mark.parametrize("seed", range(3))
def test_discarded_documents_are_reported(seed: int, policy: OverflowPolicy) -> None:
    # The check of the network compares what is missing with what was reported.
    limits = RouterLimits(waiting_documents=2)
    options = SimulationOptions(routers=3, limits=limits, overflow=policy, subscribe=8, publish=40)
    network = simulate(seed, replace(options, break_link=4, partition=4, connect=1))
    assert network.checker.missing()
    assert network.discard_codes == {"routing.queue-full"} <= set(ERRORS)
