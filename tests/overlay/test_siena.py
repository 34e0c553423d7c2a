"""The Siena-like baseline."""

from __future__ import annotations

import random

import pytest

from penstock.errors import OverlayError
from penstock.overlay import BucketDocument, BucketInterest, BucketModel, BucketWorkload
from penstock.overlay.baselines import SienaNetwork


def network_of(nodes: int, fan_out: int, seed: int = 1) -> SienaNetwork:
    interests = [BucketInterest.of(number) for number in range(nodes)]
    return SienaNetwork(BucketModel(), interests, fan_out=fan_out, random=random.Random(seed))


def test_brokers_form_a_balanced_tree_and_every_node_has_a_place() -> None:
    network = network_of(400, 6)
    depth, level = 0, [network.brokers[0]]
    seen = 0
    while level:
        seen += len(level)
        depth += 1
        level = [child for broker in level for child in broker.children]
    assert (seen, depth) == (57, 6)
    placed = sorted(node for broker in network.brokers for node in (broker.node, *broker.clients))
    assert placed == list(range(400))


def test_leaves_of_the_broker_tree_pass_nothing_on() -> None:
    network = network_of(400, 6)
    workload = BucketWorkload(subscribers=400, random=random.Random(2))
    for _ in range(300):
        network.publish(workload.next_document())
    assert all(broker.passed_on == 0 for broker in network.brokers if not broker.children)
    assert all(broker.passed_on <= broker.extraneous for broker in network.brokers)
    assert sum(broker.passed_on for broker in network.brokers) > 0
    assert 0 < network.overhead() < 1


def test_a_document_reaches_the_brokers_of_its_subscribers_and_those_above() -> None:
    network = network_of(20, 3)
    target = network.brokers[-1]
    network.publish(BucketDocument(1, 1 << target.node))
    assert target.received == 1
    assert target.extraneous == 0
    on_path = [broker for broker in network.brokers if broker.received]
    assert on_path[0] is network.brokers[0]
    assert all(broker.extraneous == 1 for broker in on_path[:-1])


def test_networks_have_nodes() -> None:
    with pytest.raises(OverlayError) as problem:
        SienaNetwork(BucketModel(), [], fan_out=1, random=random.Random(1))
    assert problem.value.code == "overlay.option"
