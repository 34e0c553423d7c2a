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
from typing import NamedTuple, TypeVar

from penstock.overlay.bucket_interest import BucketDocument, BucketInterest, BucketModel
from penstock.overlay.membership import Membership
from penstock.overlay.membership.transitions import MembershipInput, MembershipState
from penstock.overlay.options import PeerOptions
from penstock.overlay.peer import Peer
from penstock.overlay.peer_messages import AnyPeerMessage, Attempt, NewParent
from penstock.overlay.peer_outputs import Connected, Deliver, PeerOutput, Send
from penstock.overlay.placement_search import Place

SOURCE = "<0>"
"""Peers are named by numbers in brackets, so that names can be exchanged in fingerprints."""

_T = TypeVar("_T")

_MODEL = BucketModel()
_EVERYTHING = (1 << 16) - 1

_TEXTS_MAX = 200_000
"""Messages whose text is remembered."""


class ExplorationError(AssertionError):
    """A property does not hold; the message lists the actions that lead there."""


class FixedRandom(random.Random):
    """Always the middle: exploration covers the order of events by itself."""

    def random(self) -> float:
        """One half."""
        return 0.5

    def __reduce__(self) -> tuple[type[FixedRandom], tuple[()]]:
        return FixedRandom, ()


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
    whose place it takes)`` or ``("leave", peer, "")``."""

    delivered: tuple[tuple[int, ...], ...] = ()
    """Sequence numbers that each peer delivered."""

    connected_from: tuple[int | None, ...] = ()
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
    complete_every: int = 10,
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
        From one state in this number, a run without further faults must lead to one tree in which
        every subscriber has everything: there is no dead end.

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
    delivered: dict[str, list[int]]
    connected_from: dict[str, int | None] = field(default_factory=dict)

    def take(self, name: str, outputs: list[PeerOutput]) -> None:
        for output in outputs:
            match output:
                case Send():
                    self.messages.append(InFlight(name, output.peer, output.message))
                case Deliver():
                    self.delivered[name].append(output.sequence)
                case Connected() if self.connected_from.get(name) is None:
                    self.connected_from[name] = output.sequence
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

    def start(self) -> WorldState:
        options = PeerOptions(fan_out=self._scenario.fan_out, attempt_tries=2)
        world = _World({}, [], {name: [] for name in self._names})
        for number, name in enumerate(self._names):
            peer = Peer(name, model=_MODEL, random=FixedRandom(), options=options, incarnation=1)
            world.peers[name] = peer
            if number == 0:
                world.take(name, peer.serve(epoch=1, now=0.0))
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
                membership.seeds = (SOURCE,)
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
            yield text, self._applied(without, flying.receiver, receive)
            if budget.losses:
                fewer = replace(budget, losses=budget.losses - 1)
                yield f"lost: {text}", replace(without, budget=fewer)
            if budget.duplicates:
                fewer = replace(budget, duplicates=budget.duplicates - 1)
                twice = replace(state, budget=fewer)
                yield f"duplicated: {text}", self._applied(twice, flying.receiver, receive)

    def _time_outs(self, state: WorldState) -> Iterator[tuple[str, WorldState]]:
        budget = state.budget
        for number, name in enumerate(self._names):
            if not state.peers[number]:
                continue
            member = _membership(state.peers[number])
            if budget.time_outs and member.phase_at is not None:
                fewer = replace(state, budget=replace(budget, time_outs=budget.time_outs - 1))
                yield f"{name} times out", self._applied(fewer, name, _time_out)
            if budget.time_outs:
                for attempt in member.relays:
                    fewer = replace(state, budget=replace(budget, time_outs=budget.time_outs - 1))
                    unlock = partial(_unlock, attempt=attempt)
                    yield f"{name} unlocks", self._applied(fewer, name, unlock)
            if budget.heartbeats and member.is_connected:
                fewer = replace(state, budget=replace(budget, heartbeats=budget.heartbeats - 1))
                yield f"{name} sends heartbeats", self._applied(fewer, name, _beat)
            if not budget.silences:
                continue
            fewer = replace(state, budget=replace(budget, silences=budget.silences - 1))
            if member.parent is not None:
                yield f"{name} loses its parent", self._applied(fewer, name, _lose_parent)
            for child in member.children:
                lose = partial(_lose_child, child=child)
                yield f"{name} loses {child}", self._applied(fewer, name, lose)
            for other in sorted(member.awaited_answers()):
                fail = partial(_fail_to_reach, other=other)
                yield f"{name} cannot reach {other}", self._applied(fewer, name, fail)

    def _commands(self, state: WorldState) -> Iterator[tuple[str, WorldState]]:
        budget = state.budget
        for index, (kind, name, other) in enumerate(state.commands):
            rest = replace(state, commands=state.commands[:index] + state.commands[index + 1 :])
            number = self._names.index(name)
            if not state.peers[number]:
                continue
            if kind == "leave":
                yield f"{name} leaves", self._applied(rest, name, _leave)
                continue
            member = _membership(state.peers[number])
            if member.parent is None:
                continue
            if kind == "displace":
                above = state.peers[self._names.index(other)]
                place = Place(_membership(above).parent or name, other) if above else None
                if place and place.peer != name and member.state is MembershipState.CONNECTED:
                    take = partial(_take_place, place=place)
                    yield f"{name} displaces {other}", self._applied(rest, name, take)
                continue
            asked = InFlight(member.parent, name, NewParent(SOURCE, other, is_replacement=True))
            receive = partial(_receive, flying=asked)
            yield f"{name} moves to {other}", self._applied(rest, name, receive)
        if budget.documents and state.peers[0]:
            fewer = replace(
                state,
                budget=replace(budget, documents=budget.documents - 1),
                published=state.published + 1,
            )
            yield "a document is published", self._applied(fewer, SOURCE, _publish)
        if budget.crashes:
            for number, name in enumerate(self._names[1:], 1):
                if state.peers[number]:
                    dead = (*state.peers[:number], b"", *state.peers[number + 1 :])
                    fewer = replace(
                        state, peers=dead, budget=replace(budget, crashes=budget.crashes - 1)
                    )
                    yield f"{name} crashes", fewer

    def _applied(
        self, state: WorldState, name: str, action: Callable[[Peer], list[PeerOutput]]
    ) -> WorldState:
        number = self._names.index(name)
        if not state.peers[number]:
            return state
        peer: Peer = pickle.loads(state.peers[number])
        world = _World(
            {},
            list(state.messages),
            {name: list(state.delivered[number])},
            {name: state.connected_from[number]},
        )
        world.take(name, action(peer))
        return replace(
            state,
            peers=(*state.peers[:number], pickle.dumps(peer), *state.peers[number + 1 :]),
            messages=tuple(world.messages),
            delivered=_put(state.delivered, number, tuple(world.delivered[name])),
            connected_from=_put(state.connected_from, number, world.connected_from[name]),
        )

    # Properties

    def check(self, state: WorldState, trace: _Trace) -> None:
        members = {
            name: _membership(pickled)
            for name, pickled in zip(self._names, state.peers, strict=True)
            if pickled
        }
        for name, member in members.items():
            self._check_path(name, member, members, trace)
            active = sum(child.is_active for child in member.children.values())
            if active > self._scenario.fan_out:
                raise ExplorationError(f"{name} has {active} children:\n  {_actions(trace)}")
        for name, sequence in zip(self._names, state.delivered, strict=True):
            if list(sequence) != sorted(set(sequence)):
                raise ExplorationError(f"{name} delivered {sequence}:\n  {_actions(trace)}")

    def _check_path(
        self, name: str, member: Membership, members: dict[str, Membership], trace: _Trace
    ) -> None:
        seen = {name}
        below = member
        while below.parent is not None:
            if below.parent in seen:
                raise ExplorationError(f"{name} is in a cycle:\n  {_actions(trace)}")
            seen.add(below.parent)
            above = members.get(below.parent)
            if above is None:
                return
            child = above.children.get(below.name)
            if child is None or child.edge != below.edge:
                return  # The edge is broken, and a heartbeat will tell.
            if not child.is_active:
                raise ExplorationError(
                    f"{above.name} does not forward to {below.name}:\n  {_actions(trace)}"
                )
            if not _MODEL.covers(child.filter, member.own):  # type: ignore[arg-type]
                raise ExplorationError(
                    f"{above.name} lost the filter of {name}:\n  {_actions(trace)}"
                )
            below = above

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
        now = 0.0
        for _ in range(80):
            self._deliver_all(world, now)
            now += 2.5
            for name, peer in world.peers.items():
                world.take(name, peer.tick(now))
        source = world.peers[SOURCE]
        world.take(SOURCE, source.publish(BucketDocument(0, _EVERYTHING), now))
        self._deliver_all(world, now)
        members = {name: peer.memberships[SOURCE] for name, peer in world.peers.items()}
        last = members[SOURCE].stream.cursor
        for name, member in members.items():
            self._check_path(name, member, members, trace)
            if member.state in {MembershipState.ROOT, MembershipState.OUTSIDE}:
                continue
            first = world.connected_from[name]
            if member.parent is None or first is None:
                raise ExplorationError(f"dead end: {name} is {member.state}:\n  {_actions(trace)}")
            missed = set(range(first + 1, last + 1)) - set(world.delivered[name])
            if missed:
                raise ExplorationError(f"{name} misses {missed}:\n  {_actions(trace)}")
            if world.delivered[name] != sorted(set(world.delivered[name])):
                raise ExplorationError(
                    f"{name} delivered {world.delivered[name]}:\n  {_actions(trace)}"
                )

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
    return _run(peer, Membership.send_heartbeats)


def _receive(peer: Peer, flying: InFlight) -> list[PeerOutput]:
    return peer.receive(flying.sender, flying.message, 0.0)


def _unlock(peer: Peer, attempt: Attempt) -> list[PeerOutput]:
    return _run(peer, lambda member: member.unlock(attempt))


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
        member._go(MembershipInput.BEGIN_SEARCH)
        member.move([place._replace(passed_on=passed_on)], 0.0)

    return _run(peer, take)


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
    """Everything of a membership that its behaviour depends on, but for time."""
    stream = member.stream
    return (
        member.state,
        member.own,
        member.aggregate,
        member.version,
        member.confirmed,
        member.parent,
        member.edge,
        member.path,
        sorted(
            (
                child.name,
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
        (stream.is_started, stream.epoch, stream.cursor, stream.gap, stream.held_numbers()),
        [number for number, _ in member.buffer.between(0, stream.cursor)],
        (member.attempt, member.attempt_edge, member.target, member.tries),
        (member.displaced, member.awaited),
        [(each.peer, each.displaced) for each in member.candidates],
        [(attempt, relay.parent, relay.interest) for attempt, relay in member.relays.items()],
        member.replacement,
        member.protocol_counters(),
        member.phase_at is None,
    )
