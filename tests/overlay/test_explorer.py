"""Exploration of all interleavings, in small bounds; ``benchmarks/soak_overlay.py`` has more."""

from __future__ import annotations

import pytest

from penstock.overlay.membership import Membership
from penstock.overlay.membership.membership import _HANDLERS
from penstock.overlay.membership.transitions import RELAYS, MembershipState
from penstock.overlay.peer_messages import AttachRequest, RefusalReason
from penstock.overlay.simulation.explorer import (
    NO_FAULTS,
    SCENARIOS,
    SINGLE_FAULTS,
    Budget,
    ExplorationError,
    ExplorerScenario,
    explore,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
@pytest.mark.parametrize("budget", SINGLE_FAULTS, ids=str)
def test_no_violation_with_one_fault(scenario: ExplorerScenario, budget: Budget) -> None:
    found = explore(scenario, states_max=150, budget=budget)
    assert found.is_exhausted or found.states == 150


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_no_violation_with_several_faults(scenario: ExplorerScenario) -> None:
    found = explore(scenario, states_max=150)
    assert found.completions == 15


def test_moves_below_each_other_are_exhausted() -> None:
    scenario = next(each for each in SCENARIOS if "below each other" in each.name)
    for budget in (NO_FAULTS, SINGLE_FAULTS[1]):
        assert explore(scenario, states_max=5_000, budget=budget, complete_every=2).is_exhausted


def test_small_spaces_are_exhausted() -> None:
    scenario = ExplorerScenario(
        name="one peer joins",
        parents=(-1,),
        budget=Budget(losses=1, time_outs=1, documents=1),
    )
    found = explore(scenario, states_max=5_000, complete_every=3)
    assert found.is_exhausted
    assert 50 < found.states < 5_000


def test_interchangeable_peers_are_one() -> None:
    joins = ExplorerScenario(name="two join", parents=(-1, -1), budget=NO_FAULTS)
    alike = explore(joins, states_max=5_000)
    assert alike.is_exhausted
    # A command that never happens makes the peers distinguishable.
    apart = ExplorerScenario(
        name="two join", parents=(-1, -1), budget=joins.budget, commands=(("leave", 1, 2),)
    )
    assert alike.states < explore(apart, states_max=5_000).states


def test_a_protocol_that_relays_while_it_moves_has_cycles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The explorer finds what the refusal of moving peers prevents."""
    original = Membership._refusal_of

    def careless(self: Membership, sender: str, message: AttachRequest) -> RefusalReason | None:
        if self.state is MembershipState.MOVING and self.name not in message.path:
            return None
        return original(self, sender, message)

    assert MembershipState.MOVING not in RELAYS
    monkeypatch.setattr(Membership, "_refusal_of", careless)
    scenario = next(each for each in SCENARIOS if "below each other" in each.name)
    with pytest.raises(ExplorationError, match="is in a cycle"):
        explore(scenario, states_max=5_000, budget=NO_FAULTS)


def test_a_protocol_that_forgets_to_widen_loses_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The explorer finds what widening on the way to the source prevents."""
    original = Membership._on_attach_request

    def forgetful(self: Membership, sender: str, message: AttachRequest, now: float) -> None:
        original(self, sender, message, now)
        child = self.children.get(sender)
        if child is not None and sender != message.attempt.peer:
            child.filter = self.own

    monkeypatch.setitem(_HANDLERS, AttachRequest, forgetful)  # type: ignore[misc]
    scenario = next(each for each in SCENARIOS if "taken for dead" in each.name)
    with pytest.raises(ExplorationError, match="lost the filter"):
        explore(scenario, states_max=5_000, budget=NO_FAULTS)
