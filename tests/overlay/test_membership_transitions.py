"""Walks every pair of a membership's state and input, and compares the figure with the table."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from markdown_pages import code_blocks
from membership_states import membership_diagram

from penstock.overlay import BucketDocument, BucketInterest, BucketModel, Peer, PeerOptions
from penstock.overlay.limits import AGENT_ROUND_SECONDS_MAX
from penstock.overlay.membership import Membership
from penstock.overlay.membership.attach_attempt import AttachAttempt, Candidate
from penstock.overlay.membership.transitions import (
    ATTEMPTS,
    HAS_PARENT,
    MEMBERSHIP_TRANSITIONS,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    AddRefused,
    AddResult,
    AnyPeerMessage,
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    ChildCost,
    Detach,
    Edge,
    EligibilityAnswer,
    EligibilityPending,
    Forward,
    MoveRequest,
    NewParent,
    NotChild,
    OverheadAnswer,
    OverheadRequest,
    RefusalReason,
    Seeds,
)
from penstock.overlay.peer_outputs import PeerOutput, Send
from support.fixtures.repository import DOCS

S = MembershipState
In = MembershipInput
SOURCE = "source"
CHILD = Attempt("child", 0, 1)


class Subject:
    """A peer whose neighbours are played by the test."""

    def __init__(self, *, agent: str | None = None) -> None:
        options = PeerOptions(fan_out=3)
        self.peer = Peer("p", model=BucketModel(), random=random.Random(1), options=options)
        self.peer.memberships[SOURCE] = Membership(
            self.peer, SOURCE, BucketInterest.of(0), agent=agent
        )
        self.sent: list[tuple[str, AnyPeerMessage]] = []

    @property
    def member(self) -> Membership:
        return self.peer.memberships[SOURCE]

    @property
    def state(self) -> MembershipState:
        return self.member.state

    def receive(self, sender: str, message: AnyPeerMessage) -> None:
        self.take(self.peer.receive(sender, message, 1.0))

    def take(self, outputs: list[PeerOutput]) -> None:
        self.sent += [(each.peer, each.message) for each in outputs if isinstance(each, Send)]

    def time_out(self) -> None:
        self.member.time_out(1.0)
        self.take(self.peer.tick(1.0))

    def join_number(self) -> int:
        return self.member.join_search.join_number

    def answer(self, candidate: str, *, seed: str = SOURCE) -> None:
        number = self.join_number()
        self.receive(candidate, AddResult(SOURCE, number, seed, 0.0, 1, None))

    def own_attempt(self) -> AttachAttempt:
        """The attempt that is under way, or one that the peer does not know."""
        unknown = Attempt("p", 0, 1)
        nothing = self.peer.model.nothing
        return self.member.position.attempt or AttachAttempt(unknown, "q", None, None, nothing, 0)

    def confirm(self) -> None:
        own = self.own_attempt()
        edge, path = own.edge or Edge(0, 7), (SOURCE, "q")
        self.receive(
            own.target,
            AttachConfirmation(SOURCE, own.attempt, edge, own.version, 1, 0, ("p",), path),
        )

    def refuse(self) -> None:
        own = self.own_attempt()
        self.receive(own.target, AttachRefusal(SOURCE, own.attempt, RefusalReason.BUSY, ("p",)))

    def lose_parent(self) -> None:
        edge = self.member.edge or Edge(0, 7)
        self.receive(self.member.parent or "q", NotChild(SOURCE, edge))

    def add_child(self) -> None:
        """A child attaches; the request is confirmed."""
        interest = self.peer.model.nothing
        self.receive("child", AttachRequest(SOURCE, CHILD, None, interest, 0, None, ("child",)))
        if self.member.edge is not None:
            self.receive(
                self.member.parent or "q",
                AttachConfirmation(
                    SOURCE,
                    CHILD,
                    self.member.edge,
                    self.member.filter.version,
                    1,
                    self.member.stream.cursor,
                    ("child", "p"),
                    (SOURCE, "q"),
                ),
            )

    def prime(self) -> None:
        """Documents pass, so that there are statistics."""
        for number in range(1, 41):
            document = BucketDocument(number, 1)
            self.receive(
                "q",
                Forward(SOURCE, self.member.edge or Edge(0, 7), 1, number, number - 1, document),
            )

    def answer_probes(self, *, is_better: bool) -> None:
        """Ancestors answer; beside them there is a peer that has the same documents, or none."""
        for _ in range(3):
            asked = [
                (to, each)
                for to, each in self.sent
                if isinstance(each, OverheadRequest) and each.search == self.member.position.numbers
            ]
            self.sent.clear()
            for to, each in asked:
                beside = (ChildCost("other", 0.0, 9e9), ChildCost("q", 0.0, 9e9))
                self.receive(
                    to,
                    OverheadAnswer(
                        SOURCE,
                        search=each.search,
                        accepts=is_better and to == "other",
                        overhead=0.0,
                        missing=0.0,
                        exclusive=each.bitmap if to == "q" else None,
                        children=beside if to == SOURCE else (),
                    ),
                )


def joining(*, agent: str | None = None) -> Subject:
    subject = Subject(agent=agent)
    subject.member.join(0.0)
    return subject


def connected(*, agent: str | None = None) -> Subject:
    subject = joining(agent=agent)
    if agent is not None:
        subject.receive(agent, Seeds(SOURCE, (SOURCE,)))
    subject.answer("q")
    subject.confirm()
    subject.prime()
    return subject


def in_state(state: MembershipState, *, agent: bool = False) -> Subject:
    """A subject in a state, by what leads there."""
    agent_name = "agent" if agent else None
    match state:
        case S.OUTSIDE:
            return Subject(agent=agent_name)
        case S.ROOT:
            subject = Subject()
            subject.member.serve(1, 0.0)
            return subject
        case S.LOCATING:
            return joining(agent="agent")
        case S.JOINING:
            subject = joining(agent=agent_name)
            if agent:
                subject.receive("agent", Seeds(SOURCE, (SOURCE,)))
            return subject
        case S.ATTACHING:
            subject = in_state(S.JOINING, agent=agent)
            subject.answer("q")
        case S.WAITING:
            subject = in_state(S.JOINING, agent=agent)
            subject.receive(SOURCE, AddRefused(SOURCE, subject.join_number(), SOURCE))
        case S.CONNECTED:
            subject = connected(agent=agent_name)
        case S.ASKING:
            subject = connected(agent="agent")
            subject.receive("q", MoveRequest(SOURCE, 1.0))
        case S.SEARCHING:
            subject = connected()
            subject.receive("q", MoveRequest(SOURCE, 1.0))
        case S.RELOCATING:
            subject = connected(agent=agent_name)
            subject.receive("q", NewParent(SOURCE, "sibling", is_replacement=False))
        case S.MOVING:
            subject = connected(agent=agent_name)
            subject.receive("q", NewParent(SOURCE, "grandparent", is_replacement=True))
        case S.LEAVING:
            subject = connected(agent=agent_name)
            subject.add_child()
            subject.member.leave(1.0)
    assert subject.state is state
    return subject


def two_candidates(subject: Subject) -> None:
    if subject.state in ATTEMPTS:
        subject.member.attempts.candidates = [Candidate(0.0, 1, 0.0, "r")]


def lose_target(subject: Subject) -> None:
    own, parent = subject.member.position.attempt, subject.member.parent
    if own is not None and parent is not None:
        own.target = parent
    subject.lose_parent()


def refuse_with_next(subject: Subject) -> None:
    two_candidates(subject)
    subject.refuse()


def eligibility(subject: Subject, *, is_granted: bool) -> None:
    number = subject.member.position.numbers
    subject.receive("agent", EligibilityAnswer(SOURCE, number, is_granted))


def widen(subject: Subject) -> None:
    subject.member.change_interest(BucketInterest(0b11), 1.0)


def leave_with_child(subject: Subject) -> None:
    if subject.state in HAS_PARENT and subject.state is not S.LEAVING:
        if subject.state is S.MOVING:
            subject.member.position.state = S.CONNECTED
            subject.add_child()
            subject.member.position.state = S.MOVING
        else:
            subject.add_child()
        subject.member.leave(1.0)


STIMULI: dict[MembershipInput, Callable[[Subject], None]] = {
    In.SEEDS: lambda it: it.receive("agent", Seeds(SOURCE, (SOURCE,))),
    In.CANDIDATES: lambda it: it.answer(
        "r", seed="sibling" if it.state is S.RELOCATING else SOURCE
    ),
    In.NO_CANDIDATE: lambda it: it.receive(
        "r",
        AddRefused(SOURCE, it.join_number(), "sibling" if it.state is S.RELOCATING else SOURCE),
    ),
    In.CONFIRMED: Subject.confirm,
    In.REFUSED_NEXT: refuse_with_next,
    In.REFUSED_LAST: Subject.refuse,
    In.PARENT_LOST: Subject.lose_parent,
    In.GRANTED: lambda it: eligibility(it, is_granted=True),
    In.DENIED: lambda it: eligibility(it, is_granted=False),
    In.PLACE_FOUND: lambda it: it.answer_probes(is_better=True),
    In.NO_PLACE: lambda it: it.answer_probes(is_better=False),
    In.REINSERT: lambda it: it.receive("q", NewParent(SOURCE, "s", is_replacement=False)),
    In.REPLACE: lambda it: it.receive("q", NewParent(SOURCE, "g", is_replacement=True)),
    In.WIDEN: widen,
    In.LEAVE_INTERIOR: leave_with_child,
    In.HANDED_OVER: lambda it: it.receive("child", Detach(SOURCE, CHILD)),
}
"""What leads to an input. Some depend on the agent, or on the state, and are given below."""


def apply(state: MembershipState, given: MembershipInput) -> Subject:
    needs_agent = given in {In.ASK_AGENT, In.ASK_ELIGIBILITY}
    subject = in_state(state, agent=needs_agent)
    match given:
        case In.SERVE if state is S.OUTSIDE:
            subject.member.serve(1, 0.0)
        case In.ASK_AGENT | In.ASK_SEEDS if state in {S.OUTSIDE, S.WAITING}:
            if state is S.OUTSIDE:
                subject.member.join(0.0)
            else:
                subject.time_out()
        case In.TARGET_LOST if state is S.MOVING:
            lose_target(subject)
        case In.ASK_ELIGIBILITY | In.BEGIN_SEARCH:
            subject.receive("q", MoveRequest(SOURCE, 1.0))
        case In.LEAVE_LEAF if state not in {S.LEAVING}:
            subject.member.leave(1.0)
        case _ if given in STIMULI:
            STIMULI[given](subject)
        case _:
            pass
    return subject


@pytest.mark.parametrize("given", list(In))
@pytest.mark.parametrize("state", list(S))
def test_every_pair_of_state_and_input(state: MembershipState, given: MembershipInput) -> None:
    following = MEMBERSHIP_TRANSITIONS[state].get(given, state)
    assert apply(state, given).state is following


def test_parents_are_known_exactly_in_the_states_that_have_one() -> None:
    for state in S:
        member = in_state(state).member
        assert (member.parent is not None) == (state in HAS_PARENT)
        assert (member.position.attempt is not None) == (state in ATTEMPTS)


@pytest.mark.parametrize(
    ("state", "following"),
    [
        (S.LOCATING, S.JOINING),
        (S.JOINING, S.WAITING),
        (S.WAITING, S.JOINING),
        (S.ASKING, S.SEARCHING),
        (S.SEARCHING, S.CONNECTED),
        (S.RELOCATING, S.CONNECTED),
        (S.LEAVING, S.OUTSIDE),
        (S.CONNECTED, S.CONNECTED),
    ],
)
def test_time_outs(state: MembershipState, following: MembershipState) -> None:
    subject = in_state(state)
    subject.time_out()
    assert subject.state is following


def test_the_end_of_a_round_is_awaited() -> None:
    subject = in_state(S.ASKING)
    seconds = subject.peer.options.answer_seconds
    assert subject.member.position.phase_at == 1.0 + seconds
    for sender, number in (("q", 0), ("agent", 1)):  # Not the agent, and not this request.
        subject.receive(
            sender, EligibilityPending(SOURCE, subject.member.position.numbers + number, 30.0)
        )
        assert subject.member.position.phase_at == 1.0 + seconds
    subject.receive("agent", EligibilityPending(SOURCE, subject.member.position.numbers, 30.0))
    assert subject.member.position.phase_at == 31.0 + seconds
    subject.receive("agent", EligibilityPending(SOURCE, subject.member.position.numbers, 1e9))
    assert subject.member.position.phase_at == 1.0 + AGENT_ROUND_SECONDS_MAX + seconds
    # An agent that dies before the end of its round is no obstacle.
    subject.time_out()
    assert subject.state is S.SEARCHING


@pytest.mark.parametrize(("state", "last"), [(S.ATTACHING, S.WAITING), (S.MOVING, S.CONNECTED)])
def test_attempts_are_repeated_then_abandoned(
    state: MembershipState, last: MembershipState
) -> None:
    subject = in_state(state)
    tries = subject.peer.options.attempt_tries
    for _ in range(tries - 1):
        subject.time_out()
        assert subject.state is state
    subject.time_out()
    assert subject.state is last
    target = "q" if state is S.ATTACHING else "grandparent"
    assert any(to == target and isinstance(each, Detach) for to, each in subject.sent)


def test_figure_is_that_of_the_table() -> None:
    page = DOCS / "explanation" / "overlay.md"
    figures = [block.text for block in code_blocks(page) if block.language == "mermaid"]
    assert membership_diagram() in figures
