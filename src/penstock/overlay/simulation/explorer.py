"""Explores all interleavings, losses and time-outs of a few peer cores, up to a bound.

Unlike the simulator, which follows one run in time, the explorer follows *every* order in which
messages can arrive, be lost or come too late. Time stands still; a time-out may happen whenever its
timer is set. Each state is examined once: states are compared by a fingerprint, and states that
differ by the names of interchangeable peers only are one.
"""

from __future__ import annotations

import pickle
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import permutations
from typing import NamedTuple, TypeAlias, TypeVar

from penstock.overlay.bucket_interest import BucketDocument, BucketInterest, BucketModel
from penstock.overlay.interest import Interest
from penstock.overlay.membership import Membership
from penstock.overlay.membership.transitions import (
    SEEKS_PLACE,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.options import PeerOptions
from penstock.overlay.peer import Peer
from penstock.overlay.peer_messages import (
    AnyPeerMessage,
    Attempt,
    EligibilityAnswer,
    EligibilityPending,
    NewParent,
)
from penstock.overlay.peer_outputs import Connected, Deliver, PeerOutput, Send
from penstock.overlay.placement_search import Place

SOURCE = "<0>"
"""Peers are named by numbers in brackets, so that names can be exchanged in fingerprints."""

AGENT = "<agent>"
"""An agent that answers what it is commanded to, and is silent otherwise."""

_T = TypeVar("_T")

_MODEL = BucketModel()
_EVERYTHING = (1 << 16) - 1

_ROUNDS_MAX = 80
"""Rounds of a run without faults, of 2.5 seconds each, after which everything must be in order."""

_ROUNDS_CHECKED = 8
"""Rounds between two looks at such a run, which is longer than the silence of a dead peer. It ends
when everything was in order twice, so after more time than a peer needs to leave."""

_EPOCH = 2
"""Epoch and incarnation of the source at the start."""

_TEXTS_MAX = 200_000
"""Messages whose text is remembered."""


class ExplorationError(AssertionError):
    """A property does not hold; the message lists the actions that lead there."""


class TieRandom(random.Random):
    """Decides ties as the explorer wants it: one of the draws of an action is the least.

    Delays are always the middle, because exploration covers the order of events by itself.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.draws = 0
        self.favoured = -1
        """The draw that is less than all others; -1: all are equal."""

    def random(self) -> float:
        """The next draw."""
        self.draws += 1
        return 0.25 if self.draws - 1 == self.favoured else 0.75

    def uniform(self, a: float, b: float) -> float:
        """The middle."""
        return (a + b) / 2

    def __reduce__(self) -> tuple[type[TieRandom], tuple[()]]:
        return TieRandom, ()


Position: TypeAlias = tuple[int, int]
"""Epoch and sequence number."""


class InFlight(NamedTuple):
    """A message on its way."""

    sender: str
    receiver: str
    message: AnyPeerMessage


@dataclass(frozen=True, slots=True)
class Budget:
    """How often each kind of fault or command may still happen on a path."""

    losses: int = 1
    duplicates: int = 0
    time_outs: int = 1
    silences: int = 0
    """Peers that are taken for dead although they live: parents or children that are silent, and
    others to which no connection can be made."""

    heartbeats: int = 0
    documents: int = 1
    crashes: int = 0


@dataclass(frozen=True, slots=True)
class WorldState:
    """All cores, as pickles, and all messages on their way."""

    peers: tuple[bytes, ...]
    """Empty for a peer that crashed."""

    messages: tuple[InFlight, ...]
    budget: Budget
    commands: tuple[tuple[str, str, str], ...] = ()
    """What is still to be commanded: ``("move", peer, new parent)``, ``("displace", peer, the peer
    whose place it takes)``, ``("leave", peer, "")``, ``("subscribe", peer, the peer whose
    subscription it takes)``, ``("ask", peer, "")``: the peer asks the agent whether it may move,
    ``("restart", source, "")``, or ``("restart early", source, "")``: with a smaller epoch."""

    delivered: tuple[tuple[Position, ...], ...] = ()
    """What each peer delivered."""

    connected_from: tuple[Position | None, ...] = ()
    """Where each peer was connected first."""

    published: int = 0


@dataclass(slots=True)
class Exploration:
    """What was explored."""

    states: int = 0
    transitions: int = 0
    completions: int = 0
    """States from which a fair run without faults was completed."""

    is_exhausted: bool = True
    """Whether all states within the budget were examined, not only the first ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerScenario:
    """Where an exploration starts, and what may happen."""

    name: str
    parents: tuple[int, ...]
    """For each peer after the source its parent in the initial tree; -1: it joins at the start."""

    budget: Budget
    commands: tuple[tuple[str, int, int], ...] = ()
    fan_out: int = 2


SCENARIOS: tuple[ExplorerScenario, ...] = (
    ExplorerScenario(
        name="three peers join at once", parents=(-1, -1, -1), budget=Budget(), fan_out=1
    ),
    ExplorerScenario(
        name="two peers move below each other",
        parents=(0, 0),
        commands=(("move", 1, 2), ("move", 2, 1)),
        budget=Budget(losses=2, time_outs=3, heartbeats=1),
    ),
    ExplorerScenario(
        name="three peers move in a circle",
        parents=(0, 0, 0),
        commands=(("move", 1, 2), ("move", 2, 3), ("move", 3, 1)),
        budget=Budget(losses=0, time_outs=1, documents=0),
        fan_out=3,
    ),
    ExplorerScenario(
        name="a peer moves while its new parent is taken for dead",
        parents=(0, 0, 2),
        commands=(("move", 1, 3),),
        budget=Budget(losses=1, time_outs=1, silences=1, documents=1),
    ),
    ExplorerScenario(
        name="an interior peer leaves",
        parents=(0, 1, 1),
        commands=(("leave", 1, 0),),
        budget=Budget(losses=1, time_outs=1, heartbeats=1, documents=1),
    ),
    ExplorerScenario(
        name="an interior peer crashes while another moves below it",
        parents=(0, 1, 0),
        commands=(("move", 3, 2),),
        budget=Budget(losses=0, time_outs=2, silences=1, crashes=1, documents=1),
    ),
    ExplorerScenario(
        name="a request is duplicated and an attempt repeated",
        parents=(0, 0),
        commands=(("move", 1, 2),),
        budget=Budget(losses=1, duplicates=2, time_outs=3, documents=1),
    ),
    ExplorerScenario(
        name="a child takes the place of its parent",
        parents=(0, 1),
        commands=(("displace", 2, 1),),
        budget=Budget(losses=1, time_outs=2, heartbeats=1, documents=1),
        fan_out=1,
    ),
    ExplorerScenario(
        name="a child and its full parent exchange places",
        parents=(0, 1, 2),
        commands=(("displace", 2, 1),),
        budget=Budget(losses=1, time_outs=1, heartbeats=1, documents=1),
        fan_out=1,
    ),
    ExplorerScenario(
        name="two peers take each other's places",
        parents=(0, 0, 1, 2),
        commands=(("displace", 3, 2), ("displace", 4, 1)),
        budget=Budget(losses=1, time_outs=1, documents=1),
    ),
    ExplorerScenario(
        name="a peer is displaced while it moves",
        parents=(0, 0, 1),
        commands=(("displace", 3, 2), ("move", 2, 1)),
        budget=Budget(losses=1, time_outs=1, silences=1, documents=1),
    ),
    ExplorerScenario(
        name="a subscription changes while the parent moves",
        parents=(0, 1, 0),
        commands=(("subscribe", 2, 3), ("move", 1, 3)),
        budget=Budget(losses=1, time_outs=1, heartbeats=1, documents=1),
    ),
    ExplorerScenario(
        name="a subscription is narrowed and widened again while it is widened",
        parents=(0, 1),
        commands=(("subscribe", 2, 0), ("subscribe", 2, 2), ("subscribe", 2, 0)),
        budget=Budget(losses=1, time_outs=1, heartbeats=2, documents=1),
    ),
    ExplorerScenario(
        name="the source restarts while a peer moves",
        parents=(0, 0),
        commands=(("restart", 0, 0), ("move", 1, 2)),
        budget=Budget(losses=1, time_outs=1, heartbeats=2, documents=2),
    ),
    ExplorerScenario(
        name="the source restarts with a smaller epoch",
        parents=(0, 1, -1),
        commands=(("restart early", 0, 0),),
        budget=Budget(losses=1, time_outs=1, heartbeats=2, documents=2),
    ),
    ExplorerScenario(
        name="a parent leaves while a child waits for the agent",
        parents=(0, 1, 1),
        commands=(("ask", 2, 0), ("leave", 1, 0), ("subscribe", 2, 3)),
        budget=Budget(losses=1, time_outs=1, documents=1),
    ),
)


NO_FAULTS = Budget(losses=0, time_outs=0, documents=0)

SINGLE_FAULTS: tuple[Budget, ...] = (
    NO_FAULTS,
    replace(NO_FAULTS, losses=1),
    replace(NO_FAULTS, duplicates=1),
    replace(NO_FAULTS, time_outs=1),
    replace(NO_FAULTS, silences=1),
    replace(NO_FAULTS, documents=1),
    replace(NO_FAULTS, crashes=1),
)
"""Budgets whose states can be exhausted: one fault, or one document, in any place."""


def explore(
    scenario: ExplorerScenario,
    *,
    states_max: int,
    complete_every: int = 1,
    budget: Budget | None = None,
) -> Exploration:
    """Explores a scenario breadth-first.

    Parameters
    ----------
    scenario
        Where to start.
    states_max
        States after which the exploration ends.
    budget
        What may happen, if not what the scenario says.
    complete_every
        From one state in this number, by default from each, a run without further faults must lead
        to one tree in which every subscriber has everything: there is no dead end.

    Raises
    ------
    ExplorationError
        A cycle, a lost filter, a delivery twice or out of order, or a dead end.
    """
    explorer = _Explorer(scenario if budget is None else replace(scenario, budget=budget))
    found = Exploration()
    start = explorer.start()
    seen = {explorer.fingerprint(start)}
    parents: list[tuple[int, str]] = [(-1, "start")]
    waiting = deque([(start, 0)])
    while waiting:
        state, number = waiting.popleft()
        found.states += 1
        trace = parents, number
        explorer.check(state, trace)
        if found.states % complete_every == 0:
            found.completions += 1
            explorer.check_completion(state, trace)
        for action, following in explorer.successors(state):
            found.transitions += 1
            key = explorer.fingerprint(following)
            if key in seen:
                continue
            if len(seen) >= states_max:
                found.is_exhausted = False
                continue
            seen.add(key)
            parents.append((number, action))
            waiting.append((following, len(parents) - 1))
    return found


_Trace = tuple[list[tuple[int, str]], int]


def _actions(trace: _Trace) -> str:
    parents, number = trace
    actions: list[str] = []
    while number >= 0:
        number, action = parents[number]
        actions.append(action)
    return "\n  ".join(reversed(actions))


@dataclass(slots=True)
class _World:
    """A state with live cores, for a run."""

    peers: dict[str, Peer]
    messages: list[InFlight]
    delivered: dict[str, list[Position]]
    connected_from: dict[str, Position | None] = field(default_factory=dict)

    def take(self, name: str, outputs: list[PeerOutput]) -> None:
        for output in outputs:
            match output:
                case Send(peer=receiver) if receiver != AGENT:
                    self.messages.append(InFlight(name, receiver, output.message))
                case Deliver():
                    self.delivered[name].append((output.epoch, output.sequence))
                case Connected() if self.connected_from.get(name) is None:
                    self.connected_from[name] = (output.epoch, output.sequence)
                case _:
                    pass


class _Explorer:
    def __init__(self, scenario: ExplorerScenario) -> None:
        self._scenario = scenario
        count = len(scenario.parents) + 1
        self._names = [f"<{number}>" for number in range(count)]
        # Peers are interchangeable if the scenario treats them alike.
        named = {each for _, peer, other in scenario.commands for each in (peer, other)}
        alike = [
            number
            for number in range(1, count)
            if number not in named
            and scenario.parents[number - 1] in {-1, 0}
            and number not in scenario.parents
        ]
        self._renamings = [dict(zip(alike, order, strict=True)) for order in permutations(alike)]
        self._changing = {
            self._names[peer] for kind, peer, _ in scenario.commands if kind == "subscribe"
        }

    def _new_peer(self, name: str, incarnation: int = 1) -> Peer:
        options = PeerOptions(fan_out=self._scenario.fan_out, attempt_tries=2)
        return Peer(
            name, model=_MODEL, random=TieRandom(), options=options, incarnation=incarnation
        )

    def start(self) -> WorldState:
        world = _World({}, [], {name: [] for name in self._names})
        for number, name in enumerate(self._names):
            peer = self._new_peer(name, incarnation=_EPOCH if number == 0 else 1)
            world.peers[name] = peer
            if number == 0:
                world.take(name, peer.serve(epoch=_EPOCH, now=0.0))
                continue
            parent = self._scenario.parents[number - 1]
            seeds = [SOURCE] if parent < 0 else [self._names[parent]]
            interest = BucketInterest.of(0 if parent < 0 else number)
            world.take(name, peer.join(SOURCE, interest, 0.0, seeds=seeds))
            if parent >= 0:
                # Only the wanted parent is asked.
                world.messages = [
                    each for each in world.messages if each.receiver == self._names[parent]
                ]
                self._deliver_all(world)
                membership = peer.memberships[SOURCE]
                if membership.state is MembershipState.JOINING:
                    membership.time_out(0.0)
                    world.take(name, peer._taken())
                    self._deliver_all(world)
                assert membership.parent == self._names[parent]
                membership.join_search.seeds = (SOURCE,)
        return WorldState(
            peers=tuple(pickle.dumps(world.peers[name]) for name in self._names),
            messages=tuple(world.messages),
            budget=self._scenario.budget,
            commands=tuple(
                (kind, self._names[peer], self._names[other])
                for kind, peer, other in self._scenario.commands
            ),
            delivered=tuple(() for _ in self._names),
            connected_from=tuple(world.connected_from.get(name) for name in self._names),
        )

    def _deliver_all(self, world: _World, now: float = 0.0) -> None:
        while world.messages:
            sender, receiver, message = world.messages.pop(0)
            if receiver in world.peers:
                world.take(receiver, world.peers[receiver].receive(sender, message, now))

    # Successors

    def successors(self, state: WorldState) -> Iterator[tuple[str, WorldState]]:
        yield from self._arrivals(state)
        yield from self._time_outs(state)
        yield from self._commands(state)

    def _arrivals(self, state: WorldState) -> Iterator[tuple[str, WorldState]]:
        budget = state.budget
        seen: set[str] = set()
        for position, flying in enumerate(state.messages):
            others = state.messages[:position] + state.messages[position + 1 :]
            if _message_text(flying) in seen:
                continue
            seen.add(_message_text(flying))
            text = f"{flying.receiver} receives from {flying.sender}: {flying.message}"

            receive = partial(_receive, flying=flying)
            without = replace(state, messages=others)
            yield from self._outcomes(text, without, flying.receiver, receive)
            if budget.losses:
                fewer = replace(budget, losses=budget.losses - 1)
                yield f"lost: {text}", replace(without, budget=fewer)
            if budget.duplicates:
                fewer = replace(budget, duplicates=budget.duplicates - 1)
                twice = replace(state, budget=fewer)
                yield from self._outcomes(f"duplicated: {text}", twice, flying.receiver, receive)

    def _time_outs(self, state: WorldState) -> Iterator[tuple[str, WorldState]]:
        budget = state.budget
        for number, name in enumerate(self._names):
            if not state.peers[number]:
                continue
            member = _membership(state.peers[number])
            if budget.time_outs and member.position.phase_at is not None:
                fewer = replace(state, budget=replace(budget, time_outs=budget.time_outs - 1))
                yield from self._outcomes(f"{name} times out", fewer, name, _time_out)
            if budget.time_outs:
                for attempt in member.filter.relayed:
                    fewer = replace(state, budget=replace(budget, time_outs=budget.time_outs - 1))
                    unlock = partial(_unlock, attempt=attempt)
                    yield from self._outcomes(f"{name} unlocks", fewer, name, unlock)
            if budget.heartbeats and member.is_connected:
                fewer = replace(state, budget=replace(budget, heartbeats=budget.heartbeats - 1))
                yield from self._outcomes(f"{name} sends heartbeats", fewer, name, _beat)
            if not budget.silences:
                continue
            fewer = replace(state, budget=replace(budget, silences=budget.silences - 1))
            if member.parent is not None:
                yield from self._outcomes(f"{name} loses its parent", fewer, name, _lose_parent)
            for child in member.children:
                lose = partial(_lose_child, child=child)
                yield from self._outcomes(f"{name} loses {child}", fewer, name, lose)
            for other in sorted(member.awaited_answers()):
                fail = partial(_fail_to_reach, other=other)
                yield from self._outcomes(f"{name} cannot reach {other}", fewer, name, fail)

    def _commands(self, state: WorldState) -> Iterator[tuple[str, WorldState]]:
        budget = state.budget
        for index, (kind, name, other) in enumerate(state.commands):
            rest = replace(state, commands=state.commands[:index] + state.commands[index + 1 :])
            number = self._names.index(name)
            if not state.peers[number]:
                continue
            member = _membership(state.peers[number])
            match kind:
                case "leave":
                    yield from self._outcomes(f"{name} leaves", rest, name, _leave)
                case "subscribe":
                    wanted = BucketInterest.of(self._names.index(other))
                    change = partial(_change_interest, interest=wanted)
                    yield from self._outcomes(f"{name} subscribes anew", rest, name, change)
                case "restart":
                    yield f"{name} restarts", self._restarted(rest, member.stream.epoch + 1)
                case "restart early":
                    yield f"{name} restarts early", self._restarted(rest, member.stream.epoch - 1)
                case "ask" if member.state is MembershipState.CONNECTED:
                    for _, asked in self._outcomes("", rest, name, _ask_agent):
                        yield f"{name} asks the agent", self._answered(asked, name)
                case "displace" if member.state is MembershipState.CONNECTED:
                    above = state.peers[self._names.index(other)]
                    place = Place(_membership(above).parent or name, other) if above else None
                    if place and place.peer != name:
                        take = partial(_take_place, place=place)
                        yield from self._outcomes(f"{name} displaces {other}", rest, name, take)
                case "move" if member.parent is not None:
                    move = NewParent(SOURCE, other, is_replacement=True)
                    receive = partial(_receive, flying=InFlight(member.parent, name, move))
                    yield from self._outcomes(f"{name} moves to {other}", rest, name, receive)
                case _:
                    pass
        if budget.documents and state.peers[0]:
            fewer = replace(
                state,
                budget=replace(budget, documents=budget.documents - 1),
                published=state.published + 1,
            )
            yield from self._outcomes("a document is published", fewer, SOURCE, _publish)
        if budget.crashes:
            for number, name in enumerate(self._names[1:], 1):
                if state.peers[number]:
                    fewer = replace(
                        state,
                        peers=_put(state.peers, number, b""),
                        budget=replace(budget, crashes=budget.crashes - 1),
                    )
                    yield f"{name} crashes", fewer

    def _restarted(self, state: WorldState, epoch: int) -> WorldState:
        """The source is there again, without its children and its documents."""
        source = self._new_peer(SOURCE, incarnation=epoch)
        source.serve(epoch=epoch, now=0.0)
        return replace(state, peers=_put(state.peers, 0, pickle.dumps(source)), published=0)

    def _answered(self, state: WorldState, name: str) -> WorldState:
        """The agent's answers to a request are on their way."""
        number = _membership(state.peers[self._names.index(name)]).position.numbers
        answers = (
            EligibilityPending(SOURCE, number, 30.0),
            EligibilityAnswer(SOURCE, number, is_granted=True),
        )
        flying = (InFlight(AGENT, name, each) for each in answers)
        return replace(state, messages=(*state.messages, *flying))

    def _outcomes(
        self,
        text: str,
        state: WorldState,
        name: str,
        action: Callable[[Peer], list[PeerOutput]],
    ) -> Iterator[tuple[str, WorldState]]:
        """What an action leads to: a state for each way in which its ties can be decided."""
        number = self._names.index(name)
        if not state.peers[number]:
            yield text, state
            return
        first, draws = self._applied(state, number, action, -1)
        yield text, first
        for favoured in range(draws):
            other, _ = self._applied(state, number, action, favoured)
            if other.peers[number] != first.peers[number] or other.messages != first.messages:
                yield f"{text} (by tie {favoured})", other

    def _applied(
        self,
        state: WorldState,
        number: int,
        action: Callable[[Peer], list[PeerOutput]],
        favoured: int,
    ) -> tuple[WorldState, int]:
        """The state after an action, and how many draws it made."""
        name = self._names[number]
        peer: Peer = pickle.loads(state.peers[number])
        assert isinstance(peer.random, TieRandom)
        peer.random.favoured = favoured
        world = _World(
            {},
            list(state.messages),
            {name: list(state.delivered[number])},
            {name: state.connected_from[number]},
        )
        world.take(name, action(peer))
        following = replace(
            state,
            peers=_put(state.peers, number, pickle.dumps(peer)),
            messages=tuple(world.messages),
            delivered=_put(state.delivered, number, tuple(world.delivered[name])),
            connected_from=_put(state.connected_from, number, world.connected_from[name]),
        )
        return following, peer.random.draws

    # Properties

    def check(self, state: WorldState, trace: _Trace) -> None:
        members = {
            name: _membership(pickled)
            for name, pickled in zip(self._names, state.peers, strict=True)
            if pickled
        }
        for name, member in members.items():
            wanted: Interest = member.own
            if name in self._changing and not _covers(member.filter.confirmed, wanted):
                wanted = _MODEL.nothing  # The new subscription is in force from its confirmation.
            problem = self._path_problem(name, wanted, members)
            if problem is not None:
                raise ExplorationError(f"{problem}:\n  {_actions(trace)}")
            active = sum(child.is_active for child in member.children.values())
            if active > self._scenario.fan_out:
                raise ExplorationError(f"{name} has {active} children:\n  {_actions(trace)}")
        for name, sequence in zip(self._names, state.delivered, strict=True):
            if list(sequence) != sorted(set(sequence)):
                raise ExplorationError(f"{name} delivered {sequence}:\n  {_actions(trace)}")

    def _path_problem(
        self, name: str, wanted: Interest, members: dict[str, Membership]
    ) -> str | None:
        """Why documents do not reach a peer, unless an edge is broken, which a heartbeat tells."""
        seen = {name}
        below = members[name]
        while below.parent is not None:
            if below.parent in seen:
                return f"{name} is in a cycle"
            seen.add(below.parent)
            above = members.get(below.parent)
            child = None if above is None else above.children.get(below.name)
            if above is None or child is None or child.edge != below.edge:
                return None
            if not child.is_active:
                return f"{above.name} does not forward to {below.name}"
            if not _covers(child.filter, wanted):
                return f"{above.name} lost the filter of {name}"
            below = above
        return None

    def check_completion(self, state: WorldState, trace: _Trace) -> None:
        """Without further faults, all peers end up in one tree and have everything."""
        world = _World(
            {
                name: pickle.loads(pickled)
                for name, pickled in zip(self._names, state.peers, strict=True)
                if pickled
            },
            list(state.messages),
            {name: list(each) for name, each in zip(self._names, state.delivered, strict=True)},
            dict(zip(self._names, state.connected_from, strict=True)),
        )
        now, good = 0.0, 0
        problem: str | None = None
        for round_ in range(1, _ROUNDS_MAX + 1):
            self._deliver_all(world, now)
            now += 2.5
            for name, peer in world.peers.items():
                world.take(name, peer.tick(now))
            if round_ % _ROUNDS_CHECKED == 0:
                problem = self._problem(world, now)
                good = good + 1 if problem is None else 0
                if good == 2:
                    return
        raise ExplorationError(f"{problem}:\n  {_actions(trace)}")

    def _problem(self, world: _World, now: float) -> str | None:
        """Why a document that is published now does not reach every subscriber."""
        source = world.peers[SOURCE]
        world.take(SOURCE, source.publish(BucketDocument(0, _EVERYTHING), now))
        self._deliver_all(world, now)
        members = {name: peer.memberships[SOURCE] for name, peer in world.peers.items()}
        stream = members[SOURCE].stream
        for name, member in members.items():
            problem = self._path_problem(name, member.filter.own, members)
            if problem is not None:
                return problem
            if member.state in {MembershipState.ROOT, MembershipState.OUTSIDE}:
                continue
            first, delivered = world.connected_from[name], world.delivered[name]
            if member.parent is None or first is None:
                return f"dead end: {name} is {member.state}"
            # What a source published before it restarted may be lost with it.
            after = first[1] if first[0] == stream.epoch else 0
            expected = {(stream.epoch, each) for each in range(after + 1, stream.cursor + 1)}
            missed = expected - set(delivered)
            if missed:
                return f"{name} misses {missed}"
            if delivered != sorted(set(delivered)):
                return f"{name} delivered {delivered}"
        return None

    # Fingerprints

    def fingerprint(self, state: WorldState) -> int:
        """Equal for states that behave alike; the least one of all renamings of peers."""
        parts = [
            (
                (_key_text(pickled) if pickled else "dead")
                + repr((state.delivered[number], state.connected_from[number]))
            )
            for number, pickled in enumerate(state.peers)
        ]
        messages = [_message_text(each) for each in state.messages]
        rest = repr((state.budget, state.commands, state.published))
        return min(self._renamed(parts, messages, rest, each) for each in self._renamings)

    def _renamed(
        self, parts: list[str], messages: list[str], rest: str, renaming: dict[int, int]
    ) -> int:
        if all(before == after for before, after in renaming.items()):
            return hash((tuple(parts), tuple(sorted(messages)), rest))

        def rename(text: str) -> str:
            for before, after in renaming.items():
                text = text.replace(f"<{before}>", f"<={after}>")
            return text.replace("<=", "<")

        placed = list(parts)
        for before, after in renaming.items():
            placed[after] = parts[before]
        return hash((tuple(map(rename, placed)), tuple(sorted(map(rename, messages))), rest))


def _covers(interest: Interest, other: Interest) -> bool:
    assert isinstance(interest, BucketInterest)
    assert isinstance(other, BucketInterest)
    return _MODEL.covers(interest, other)


def _put(values: tuple[_T, ...], number: int, value: _T) -> tuple[_T, ...]:
    return (*values[:number], value, *values[number + 1 :])


@lru_cache(maxsize=4_096)
def _membership(pickled: bytes) -> Membership:
    """A core to look at; it must not be changed."""
    peer: Peer = pickle.loads(pickled)
    return peer.memberships[SOURCE]


def _run(peer: Peer, action: Callable[[Membership], None]) -> list[PeerOutput]:
    action(peer.memberships[SOURCE])
    return peer._taken()


def _time_out(peer: Peer) -> list[PeerOutput]:
    return _run(peer, lambda member: member.time_out(0.0))


def _beat(peer: Peer) -> list[PeerOutput]:
    return _run(peer, lambda member: member.heartbeats.send())


def _receive(peer: Peer, flying: InFlight) -> list[PeerOutput]:
    return peer.receive(flying.sender, flying.message, 0.0)


def _unlock(peer: Peer, attempt: Attempt) -> list[PeerOutput]:
    def unlock(member: Membership) -> None:
        member.filter.unlock(attempt)

    return _run(peer, unlock)


def _lose_child(peer: Peer, child: str) -> list[PeerOutput]:
    return _run(peer, lambda member: member.lose_child(child, 0.0))


def _lose_parent(peer: Peer) -> list[PeerOutput]:
    return _run(peer, lambda member: member.lose_parent(0.0))


def _fail_to_reach(peer: Peer, other: str) -> list[PeerOutput]:
    return peer.unreachable(other, 0.0)


def _take_place(peer: Peer, place: Place) -> list[PeerOutput]:
    def take(member: Membership) -> None:
        # A peer without room passes a child on.
        first = min(member.children, default=None)
        passed_on = first if len(member.children) >= peer.options.fan_out else None
        member.position.go(MembershipInput.BEGIN_SEARCH)
        member.reorganisation.move([place._replace(passed_on=passed_on)], 0.0)

    return _run(peer, take)


def _change_interest(peer: Peer, interest: BucketInterest) -> list[PeerOutput]:
    return peer.change_interest(SOURCE, interest, 0.0)


def _ask_agent(peer: Peer) -> list[PeerOutput]:
    def ask(member: Membership) -> None:
        member.position.agent = AGENT
        member.position.go(MembershipInput.ASK_ELIGIBILITY)
        member.position.next_number()
        member.position.phase_at = peer.options.answer_seconds

    return _run(peer, ask)


def _leave(peer: Peer) -> list[PeerOutput]:
    return peer.leave(SOURCE, 0.0)


def _publish(peer: Peer) -> list[PeerOutput]:
    return peer.publish(BucketDocument(0, _EVERYTHING), 0.0)


_texts: dict[int, tuple[InFlight, str]] = {}


def _message_text(flying: InFlight) -> str:
    """The text of a message, which the states that have it share."""
    known = _texts.get(id(flying))
    if known is None or known[0] is not flying:
        if len(_texts) > _TEXTS_MAX:
            _texts.clear()
        known = _texts[id(flying)] = (flying, repr(flying))
    return known[1]


@lru_cache(maxsize=65_536)
def _key_text(pickled: bytes) -> str:
    return repr(_key(_membership(pickled)))


def _key(member: Membership) -> tuple[object, ...]:
    """Everything of a membership that its behaviour depends on, but for time.

    Statistics are left out: without 20 documents they are not used. So is the order of children:
    ties between them are decided in every way.
    """
    position, stated, delivery = member.position, member.filter, member.delivery
    attempts, joins, stream = member.attempts, member.join_search, member.delivery.stream
    parent, own = position.parent, position.attempt
    # Candidates are compared until they are sorted; their ties do not matter from then on.
    is_collecting = member.state in SEEKS_PLACE or member.state is MembershipState.WAITING
    never = float("-inf")
    return (
        member.state,
        (stated.own, stated.interest, stated.version, stated.confirmed),
        parent and (parent.name, parent.attempt, parent.edge, parent.path),
        sorted(
            (
                child.name,
                child.attempt,
                child.edge,
                child.filter.digest,
                child.version,
                child.is_active,
                child.last_sent,
                child.replacement or "",
                child.displaced or "",
            )
            for child in member.children.values()
        ),
        (stream.is_started, stream.epoch, stream.cursor, stream.gap),
        [(each.sequence, each.previous, each.lost_from) for each in stream.held_items()],
        (delivery.buffer.floor, [each for each, _ in delivery.buffer.between(0, stream.cursor)]),
        (stated.coverage.intervals(), delivery.replay_asked_at > never),
        own and (own.attempt, own.edge, own.target, own.tries, own.interest, own.version),
        (own and own.displaced, attempts.awaited),
        [tuple(each) if is_collecting else each[3:] for each in attempts.candidates],
        [(attempt, *relayed[:5]) for attempt, relayed in stated.relayed.items()],
        (member.departure.replacement, member.departure.replaced_below),
        (position.numbers, position.children.edges_made, attempts.failures),
        attempts.widen_at > never,
        (joins.join_number, sorted(joins.unanswered), joins.rejoin_seeds),
        position.agent,
        (
            position.phase_at is None,
            member.heartbeats.heartbeat_at is None,
            member.heartbeats.statement_at is None,
        ),
    )
