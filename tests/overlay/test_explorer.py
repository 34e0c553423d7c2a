"""Exploration of all interleavings, in small bounds; ``benchmarks/soak_overlay.py`` has more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from penstock.overlay import BucketDocument, BucketInterest, BucketModel, Peer
from penstock.overlay.interest import Interest
from penstock.overlay.membership import Membership
from penstock.overlay.membership.attach_attempt import Candidate
from penstock.overlay.membership.attach_path import AttachPath
from penstock.overlay.membership.document_delivery import DocumentDelivery
from penstock.overlay.membership.transitions import RELAYS, MembershipState
from penstock.overlay.ordered_stream import StreamItem
from penstock.overlay.peer_messages import AddResult, AttachRequest, RefusalReason
from penstock.overlay.simulation.explorer import (
    NO_FAULTS,
    SCENARIOS,
    SINGLE_FAULTS,
    SOURCE,
    Budget,
    ExplorationError,
    ExplorerScenario,
    TieRandom,
    _key,
    explore,
)

STATES_MAX = 150

FAULTS = ("none", "losses", "duplicates", "time_outs", "silences", "documents", "crashes")
"""What each of the budgets allows once."""

ALL_BUT_DOCUMENTS = {"none", "losses", "duplicates", "time_outs", "silences", "crashes"}

EXHAUSTED: dict[str, set[str]] = {
    "two peers move below each other": {"none"},
    "a peer moves while its new parent is taken for dead": ALL_BUT_DOCUMENTS,
    "an interior peer crashes while another moves below it": ALL_BUT_DOCUMENTS,
    "a request is duplicated and an attempt repeated": ALL_BUT_DOCUMENTS,
    "a child takes the place of its parent": {"none"},
    "a subscription is narrowed and widened again while it is widened": {"none"},
    "the source restarts while a peer moves": {"none", "losses", "crashes"},
    "the source restarts with a smaller epoch": ALL_BUT_DOCUMENTS,
}
"""Faults with which a scenario has no more states than the bound; the others have more."""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    ("fault", "budget"), list(zip(FAULTS, SINGLE_FAULTS, strict=True)), ids=str
)
def test_no_violation_with_one_fault(
    scenario: ExplorerScenario, fault: str, budget: Budget
) -> None:
    assert fault == "none" or getattr(budget, fault) == 1
    found = explore(scenario, states_max=STATES_MAX, budget=budget)
    assert found.is_exhausted == (fault in EXHAUSTED.get(scenario.name, set()))
    assert found.is_exhausted or found.states == STATES_MAX
    assert found.completions == found.states


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_no_violation_with_several_faults(scenario: ExplorerScenario) -> None:
    found = explore(scenario, states_max=STATES_MAX)
    assert not found.is_exhausted
    assert found.completions == found.states == STATES_MAX


def test_moves_below_each_other_are_exhausted() -> None:
    scenario = next(each for each in SCENARIOS if "below each other" in each.name)
    for budget in (NO_FAULTS, SINGLE_FAULTS[1]):
        assert explore(scenario, states_max=5_000, budget=budget, complete_every=4).is_exhausted


def test_a_late_request_does_not_make_the_edge_again_that_a_dead_child_had() -> None:
    """A child repeats its request and is confirmed; its parent takes it for dead, then gets the
    copy."""
    scenario = next(each for each in SCENARIOS if "taken for dead" in each.name)
    budget = replace(NO_FAULTS, time_outs=1, silences=1)
    found = explore(scenario, states_max=5_000, budget=budget, complete_every=20)
    assert found.is_exhausted


def test_a_filter_that_is_widened_again_while_it_is_widened_is_not_lost() -> None:
    """A heartbeat states the narrower one, before the first attempt is confirmed."""
    scenario = next(each for each in SCENARIOS if "widened again" in each.name)
    budget = replace(NO_FAULTS, heartbeats=1)
    found = explore(scenario, states_max=5_000, budget=budget, complete_every=20)
    assert found.is_exhausted


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


def change_nothing(member: Membership) -> None:
    pass


def change_coverage(member: Membership) -> None:
    member.filter.coverage.confirmed(3, BucketInterest.of(5))


def change_attempt_interest(member: Membership) -> None:
    assert member.position.attempt is not None
    member.position.attempt.interest = BucketInterest.of(5)


def change_buffer(member: Membership) -> None:
    member.delivery.buffer.lose(7)


def change_widening(member: Membership) -> None:
    member.attempts.widen_at = 1.0


def change_candidates(member: Membership) -> None:
    member.attempts.candidates = [Candidate(0.0, 2, 0.5, "<1>")]


def hold_after_four(member: Membership) -> None:
    member.stream.offer(StreamItem(9, 4, BucketDocument(1, 1)))


def hold_after_eight(member: Membership) -> None:
    member.stream.offer(StreamItem(9, 8, BucketDocument(1, 1)))


def test_states_that_behave_differently_have_different_fingerprints() -> None:
    changes = (
        change_nothing,
        change_coverage,
        change_attempt_interest,
        change_buffer,
        change_widening,
        change_candidates,
        hold_after_four,
        hold_after_eight,
    )
    keys = set()
    for change in changes:
        peer = Peer("<2>", model=BucketModel(), random=TieRandom())
        peer.join(SOURCE, BucketInterest.of(2), 0.0)
        peer.receive("<1>", AddResult(SOURCE, 1, SOURCE, 0.0, 1, None), 0.0)
        member = peer.membership(SOURCE)
        assert member.state is MembershipState.ATTACHING
        change(member)
        keys.add(repr(_key(member)))
    assert len(keys) == len(changes)


def test_ties_are_decided_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    # Peers that a command distinguishes, one of which gets the new peer below it.
    scenario = ExplorerScenario(
        name="a peer joins", parents=(0, 0, -1), commands=(("leave", 1, 2),), budget=NO_FAULTS
    )
    states = explore(scenario, states_max=5_000).states
    monkeypatch.setattr(TieRandom, "random", lambda _: 0.5)
    assert explore(scenario, states_max=5_000).states < states


def keep_the_filter(self: Membership, own: Interest, now: float) -> None:
    self.filter.own = own


def keep_the_epoch(self: DocumentDelivery, epoch: int) -> None:
    pass


def ignore_what_is_known(self: DocumentDelivery, known: int) -> None:
    pass


@pytest.mark.parametrize(
    ("name", "changed", "method", "mutant", "problem"),
    [
        (
            "a subscription changes",
            Membership,
            "change_interest",
            keep_the_filter,
            "lost the filter of <2>",
        ),
        (
            "the source restarts while",
            DocumentDelivery,
            "enter_epoch",
            keep_the_epoch,
            "misses|dead end",
        ),
        (
            "with a smaller epoch",
            DocumentDelivery,
            "outgrow_epoch",
            ignore_what_is_known,
            "dead end",
        ),
    ],
)
def test_a_protocol_that_ignores_changes_is_found(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    changed: type,
    method: str,
    mutant: Callable[..., None],
    problem: str,
) -> None:
    """The explorer finds what stating new filters, and entering epochs, prevents."""
    monkeypatch.setattr(changed, method, mutant)
    scenario = next(each for each in SCENARIOS if name in each.name)
    with pytest.raises(ExplorationError, match=problem):
        explore(scenario, states_max=STATES_MAX, budget=NO_FAULTS)


def test_a_protocol_that_relays_while_it_moves_has_cycles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The explorer finds what the refusal of moving peers prevents."""
    original = AttachPath.refusal_of

    def careless(self: AttachPath, sender: str, message: AttachRequest) -> RefusalReason | None:
        position = self._position
        if position.state is MembershipState.MOVING and position.name not in message.path:
            return None
        return original(self, sender, message)

    assert MembershipState.MOVING not in RELAYS
    monkeypatch.setattr(AttachPath, "refusal_of", careless)
    scenario = next(each for each in SCENARIOS if "below each other" in each.name)
    with pytest.raises(ExplorationError, match="is in a cycle"):
        explore(scenario, states_max=5_000, budget=NO_FAULTS)


def test_a_protocol_that_forgets_to_widen_loses_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The explorer finds what widening on the way to the source prevents."""
    original = AttachPath.on_request

    def forgetful(self: AttachPath, sender: str, message: AttachRequest, now: float) -> None:
        original(self, sender, message, now)
        child = self._position.children.get(sender)
        if child is not None and sender != message.attempt.peer:
            child.filter = self._filter.own

    monkeypatch.setattr(AttachPath, "on_request", forgetful)
    scenario = next(each for each in SCENARIOS if "taken for dead" in each.name)
    with pytest.raises(ExplorationError, match="lost the filter"):
        explore(scenario, states_max=5_000, budget=NO_FAULTS)
