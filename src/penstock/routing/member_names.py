"""The names of targets as members of an announced interest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.routing.interest_index import LocalTarget, Target
from penstock.routing.patterns import Pattern


def local_member(id_: str) -> str:
    """The name of a local subscription."""
    return f"local/{id_}"


def neighbour_member(neighbour: str, digest: bytes) -> str:
    """The name of a pattern of a neighbour's interest."""
    # The digest has a fixed length, so these names are distinct whatever the neighbour's name is.
    return f"neighbour/{neighbour}/{digest.hex()}"


def member_of(target: Target) -> str:
    """The name of a target."""
    if isinstance(target, LocalTarget):
        return local_member(target.id)
    return neighbour_member(target.neighbour, target.digest)


def local_members(patterns: Mapping[str, Pattern]) -> dict[str, Pattern]:
    """Patterns of local subscriptions, by their ids, as members of what is announced."""
    return {local_member(id_): pattern for id_, pattern in patterns.items()}


def neighbour_members(neighbour: str, patterns: Iterable[Pattern]) -> dict[str, Pattern]:
    """Patterns of a neighbour as members of what is announced to the others."""
    return {neighbour_member(neighbour, pattern.digest): pattern for pattern in patterns}


def interest_members(
    local: Mapping[str, Pattern], neighbours: Mapping[str, Iterable[Pattern]]
) -> dict[str, Pattern]:
    """The members of what is announced to a neighbour: local subscriptions, and the others'."""
    members = local_members(local)
    for name, patterns in neighbours.items():
        members |= neighbour_members(name, patterns)
    return members
