"""Checkers that stand beside a simulation: structure of trees, and what was delivered."""

from __future__ import annotations

from collections import defaultdict

from penstock.overlay.interest import Interest
from penstock.overlay.membership import Membership
from penstock.overlay.membership.transitions import MembershipState
from penstock.overlay.simulation.simulator import Simulator, SubscriberLog


class ViolationError(AssertionError):
    """A property of the overlay does not hold; the message has the seed."""


def violation(simulator: Simulator, problem: str) -> ViolationError:
    """The error for a problem, with what is needed to repeat the run."""
    return ViolationError(f"{problem} (seed {simulator.seed}, time {simulator.now:.3f})")


def check_structure(simulator: Simulator, source: str) -> None:
    """No cycle, and no peer has more children than its fan-out: at any time."""
    members = memberships(simulator, source)
    for name in members:
        seen = {name}
        above = members[name].parent
        while above is not None and above in members:
            if above in seen:
                raise violation(simulator, f"{name} is in or below a cycle of {source}")
            seen.add(above)
            above = members[above].parent
    for peer in simulator.peers.values():
        active = sum(
            child.is_active
            for each in peer.memberships.values()
            for child in each.children.values()
        )
        if active > peer.options.fan_out:
            raise violation(simulator, f"{peer.name} has {active} children")


def check_one_tree(simulator: Simulator, source: str) -> None:
    """Every peer that joined has one parent, which knows it, and is below the source.

    Holds some time after the last fault. Filters cover what is below them.
    """
    members = memberships(simulator, source)
    for name, member in members.items():
        if member.state is MembershipState.ROOT or member.state is MembershipState.OUTSIDE:
            continue
        if member.parent is None:
            raise violation(simulator, f"{name} has no parent but is {member.state}")
        below, wanted = member, member.own
        while below.parent is not None:
            above = members.get(below.parent)
            if above is None:
                raise violation(simulator, f"{name} is below {below.parent}, which is dead")
            child = above.children.get(below.name)
            if child is None or child.edge != below.edge or not child.is_active:
                raise violation(simulator, f"{below.parent} does not know its child {below.name}")
            if not simulator.model.covers(child.filter, wanted):
                raise violation(
                    simulator, f"the filter of {below.parent} for {below.name} lost {name}"
                )
            below = above
        if below.state is not MembershipState.ROOT:
            raise violation(simulator, f"{name} is not below the source")
    parents: defaultdict[str, list[str]] = defaultdict(list)
    for name, member in members.items():
        for child in member.children.values():
            if child.is_active:
                parents[child.name].append(name)
    for name, above_it in parents.items():
        if len(above_it) > 1:
            raise violation(simulator, f"{name} is a child of {above_it}")


def check_order(simulator: Simulator) -> None:
    """Every subscriber received each document at most once, and in order."""
    for (source, name), log in simulator.logs.items():
        for earlier, later in zip(log.deliveries, log.deliveries[1:], strict=False):
            if later <= earlier:
                raise violation(simulator, f"{name} received {later} of {source} after {earlier}")


def check_nothing_lost(simulator: Simulator, source: str) -> None:
    """Every connected subscriber received what it subscribed to, except for reported gaps."""
    published: defaultdict[int, list[tuple[int, object]]] = defaultdict(list)
    for epoch, sequence, document in simulator.published[source]:
        published[epoch].append((sequence, document))
    for (tree, name), log in simulator.logs.items():
        if tree != source or name not in simulator.peers or not log.connections:
            continue
        member = simulator.peers[name].memberships[source]
        _check_subscriber(simulator, name, log, member, published)


def check_caught_up(simulator: Simulator, source: str) -> None:
    """Every connected peer has processed everything that was published."""
    last = simulator.peers[source].memberships[source].stream.cursor
    for name, member in memberships(simulator, source).items():
        if member.is_connected and member.stream.cursor < last:
            raise violation(simulator, f"{name} stands at {member.stream.cursor} of {last}")


def memberships(simulator: Simulator, source: str) -> dict[str, Membership]:
    """The memberships in a tree, by peer."""
    return {
        name: peer.memberships[source]
        for name, peer in simulator.peers.items()
        if source in peer.memberships
    }


def _check_subscriber(
    simulator: Simulator,
    name: str,
    log: SubscriberLog,
    member: Membership,
    published: dict[int, list[tuple[int, object]]],
) -> None:
    matches = simulator.model.matches
    delivered = set(log.deliveries)
    _, first_epoch, first_sequence = log.connections[0]
    ends = {former: last for _, former, last in log.epochs}
    for epoch, documents in published.items():
        if epoch < first_epoch:
            continue
        last = member.stream.cursor if epoch == member.stream.epoch else ends.get(epoch, 0)
        first = first_sequence if epoch == first_epoch else 0
        lost = [(low, high) for number, low, high in log.gaps if number == epoch]
        for sequence, document in documents:
            wanted = _interests_at(log, epoch, sequence)
            is_delivered = (epoch, sequence) in delivered
            if is_delivered and not any(matches(each, document) for each in wanted):
                raise violation(simulator, f"{name} received {sequence}, which does not match")
            if (
                first < sequence <= last
                and not is_delivered
                and all(matches(each, document) for each in wanted)
                and not any(low <= sequence <= high for low, high in lost)
            ):
                raise violation(simulator, f"{name} did not receive {epoch}/{sequence}")


def _interests_at(log: SubscriberLog, epoch: int, sequence: int) -> list[Interest]:
    """The subscriptions that may decide a document: several, while a change is under way."""
    deciding = [log.interests[0][1]]
    for before, interest in log.interests[1:]:
        later = log.connections[before : before + 1]
        confirmed = later[0][1:] if later else None
        if confirmed is not None and confirmed < (epoch, sequence):
            deciding = [interest]
        else:
            deciding.append(interest)
    return deciding
