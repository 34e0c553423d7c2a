"""The limits of requests that others send, of a peer and of the agent."""

from __future__ import annotations

import random

import msgspec
import pytest

from penstock.errors import OverlayError
from penstock.overlay import (
    AgentOptions,
    BucketInterest,
    BucketModel,
    MessageCodec,
    Peer,
    PeerOptions,
    Send,
    SystemAgent,
)
from penstock.overlay.limits import ADD_HOPS_MAX, DEPTH_MAX, EXCLUDED_PEERS_MAX
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AnyPeerMessage,
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    EligibilityAnswer,
    EligibilityPending,
    EligibilityRequest,
    RefusalReason,
    Seeds,
    SeedsRequest,
)
from penstock.overlay.simulation import Simulator

SOURCE = "source"


def full_source() -> Peer:
    """A source that has one child and no room for another."""
    simulator = Simulator(BucketModel(), seed=1)
    simulator.add_source(SOURCE, PeerOptions(fan_out=1))
    simulator.add_peer("child", SOURCE, BucketInterest.of(0))
    simulator.run(until=5)
    assert set(simulator.membership(SOURCE, SOURCE).children) == {"child"}
    return simulator.peers[SOURCE]


def add(**values: object) -> Add:
    defaults = Add(SOURCE, "joiner", 1, SOURCE, BucketInterest.of(1), None, False, (), (), (), 0)
    return msgspec.structs.replace(defaults, **values)


def sent(peer: Peer, sender: str, message: AnyPeerMessage) -> tuple[str, AnyPeerMessage]:
    [output] = peer.receive(sender, message, 5.0)
    assert isinstance(output, Send)
    return output.peer, output.message


def others(count: int) -> tuple[str, ...]:
    return tuple(f"p{number}" for number in range(count))


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("hops", ADD_HOPS_MAX - 1, ADD_HOPS_MAX),
        ("excluded", others(EXCLUDED_PEERS_MAX - 1), others(EXCLUDED_PEERS_MAX)),
        ("costs", (1.0,) * DEPTH_MAX, (1.0,) * (DEPTH_MAX + 1)),
    ],
)
def test_requests_for_a_place_are_not_forwarded_for_ever(
    name: str, allowed: object, refused: object
) -> None:
    codec = MessageCodec(BucketModel())
    receiver, message = sent(full_source(), "other", add(**{name: allowed}))
    assert receiver == "child"
    assert isinstance(message, Add)
    # What is forwarded passes the validation of its receiver.
    assert codec.decode(codec.encode(message)) == message
    answer = sent(full_source(), "other", add(**{name: refused}))
    assert answer == ("joiner", AddRefused(SOURCE, 1, SOURCE))


def test_requests_of_any_length_are_not_decoded() -> None:
    codec = MessageCodec(BucketModel())
    for message in (
        add(hops=ADD_HOPS_MAX + 1),
        add(excluded=others(EXCLUDED_PEERS_MAX + 1)),
        add(costs=(1.0,) * (DEPTH_MAX + 2)),
        add(route=others(DEPTH_MAX + 2)),
    ):
        with pytest.raises(OverlayError) as problem:
            codec.decode(codec.encode(message))
        assert problem.value.code == "overlay.message"


def test_attach_requests_of_long_paths_are_refused() -> None:
    attempt = Attempt("p0", 1, 1)

    def answer_to(length: int) -> AnyPeerMessage:
        path = (*others(length - 1), "child")
        interest = BucketInterest.of(1)
        source = full_source()
        edge = source.membership(SOURCE).children["child"].edge
        request = AttachRequest(SOURCE, attempt, edge, interest, 1, None, path)
        receiver, message = sent(source, "child", request)
        assert receiver == "child"
        return message

    assert isinstance(answer_to(DEPTH_MAX - 1), AttachConfirmation)
    refusal = answer_to(DEPTH_MAX)
    assert isinstance(refusal, AttachRefusal)
    assert refusal.reason is RefusalReason.TOO_DEEP


def test_an_agent_denies_requests_past_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.overlay.agent.AGENT_REQUESTS_MAX", 2)
    agent = SystemAgent(AgentOptions(top=5), random=random.Random(1))
    answers = [
        agent.receive(name, EligibilityRequest("s", 1, 9.0), 0.0)[0].message for name in others(3)
    ]
    assert [type(each) for each in answers] == [
        EligibilityPending,
        EligibilityPending,
        EligibilityAnswer,
    ]
    assert answers[2] == EligibilityAnswer("s", 1, is_granted=False)
    assert {each.peer for each in agent.tick(1.0)} == {"p0", "p1"}


def test_an_agent_forgets_the_peers_of_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.overlay.agent.AGENT_PEERS_MAX", 2)
    options = AgentOptions(extra_seeds=10, move_wait_seconds=100.0)
    agent = SystemAgent(options, random=random.Random(1))

    def is_granted(name: str) -> bool:
        [answer] = agent.receive(name, EligibilityRequest("s", 1, 9.0), 1.0)
        assert isinstance(answer.message, EligibilityAnswer)
        return answer.message.is_granted

    assert [is_granted(name) for name in (*others(3), *others(3))] == [
        *(True, True, True),
        # The oldest grant is forgotten, then that of the next one.
        *(True, True, True),
    ]
    assert not is_granted("p2")
    for name in others(3):
        agent.receive(name, SeedsRequest("s"), 1.0)
    [seeds] = agent.receive("p9", SeedsRequest("s"), 1.0)
    assert isinstance(seeds.message, Seeds)
    assert set(seeds.message.peers) == {"s", "p1", "p2"}
