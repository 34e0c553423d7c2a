"""Two cores over a network that loses, delays, repeats and cuts, with processes that are killed.

Each case runs from a seed, which is in its name. `PENSTOCK_FUZZ_EXAMPLES` sets how many there are.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from support.links.fake_link import Faults, Network

SEEDS = range(int(os.environ.get("PENSTOCK_FUZZ_EXAMPLES", "0")) or 12)

FAULTS = {
    "none": Faults(),
    "byte by byte": Faults(slice_bytes=1, cut=0.002),
    "cuts": Faults(cut=0.05),
    "half-open connections": Faults(half_open=0.03, delay=0.2),
    "half-open connections, often": Faults(half_open=0.3, delay=0.5, unread=0.3),
    "lost frames": Faults(lose_frame=0.02),
    "repeated frames": Faults(duplicate_frame=0.05),
    "repeated messages": Faults(duplicate_message=0.2, cut=0.01),
    "kills with state": Faults(restart_with_state=0.02, cut=0.01),
    "kills with unread events": Faults(restart_with_state=0.1, unread=0.6, delay=0.2),
    "slow consumers": Faults(slow=0.9, cut=0.01),
    "everything but lost state": Faults(
        cut=0.02,
        half_open=0.01,
        lose_frame=0.005,
        duplicate_frame=0.005,
        duplicate_message=0.05,
        restart_with_state=0.01,
        slow=0.3,
        unread=0.3,
        delay=0.2,
        slice_bytes=30,
    ),
}
LOST_STATE = {
    "kills without state": Faults(restart_without_state=0.01),
    "everything": Faults(
        cut=0.02,
        half_open=0.01,
        lose_frame=0.005,
        duplicate_frame=0.005,
        duplicate_message=0.05,
        restart_with_state=0.01,
        restart_without_state=0.005,
        slow=0.3,
        unread=0.3,
        delay=0.2,
        slice_bytes=30,
    ),
}


def run(seed: int, faults: Faults) -> Network:
    network = Network(seed, faults)
    for _ in range(20):
        for _ in range(30):
            network.step()
        network.check()
    network.heal()
    network.check()
    network.check_complete()
    return network


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FAULTS)
def test_every_message_is_stored_exactly_once_and_in_order(name: str, seed: int) -> None:
    network = run(seed, FAULTS[name])
    begun = {session_id for node in network.nodes for session_id, *_ in node.stored}
    for node in network.nodes:
        other = network.responder if node is network.initiator else network.initiator
        # Who is killed before its application has read that a session was established does not
        # know it, and the other side sees a reset of a session in which nothing was stored.
        assert not begun.intersection(node.resets)
        assert "kills" in name or "everything" in name or not node.resets
        assert [content for _, _, content in node.stored] == other.sent
        assert other.made > 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", LOST_STATE)
def test_lost_state_is_reported_and_what_was_not_acknowledged_is_returned(
    name: str, seed: int
) -> None:
    run(seed, LOST_STATE[name])


def test_the_faults_have_the_effects_that_they_are_meant_to_have() -> None:
    """Otherwise the tests above would test less than their names say."""

    def over_seeds(faults: Faults) -> tuple[Counter[str], int, int, int]:
        networks = [run(seed, faults) for seed in range(6)]
        nodes = [node for network in networks for node in network.nodes]
        counters = [node.streams.counters for node in nodes]
        return (
            Counter(code for node in nodes for code in node.errors),
            sum(each.retransmissions for each in counters),
            sum(each.duplicates for each in counters),
            sum(len(node.resets) for node in nodes),
        )

    errors, _, repeated, resets = over_seeds(FAULTS["none"])
    # Each run cuts the connection once before it waits until everything has arrived.
    assert (errors, repeated, resets) == ({"link.lost": 12}, 0, 0)
    errors, again, *_ = over_seeds(FAULTS["cuts"])
    assert errors["link.lost"] > 20
    assert again > 5
    assert over_seeds(FAULTS["half-open connections"])[0]["link.superseded"] > 5
    errors = over_seeds(FAULTS["lost frames"])[0]
    assert errors["link.unexpected-frame"] > 5
    assert over_seeds(FAULTS["repeated frames"])[0]["link.unexpected-frame"] > 5
    assert over_seeds(FAULTS["repeated messages"])[2] > 20
    assert over_seeds(LOST_STATE["kills without state"])[3] > 5
