"""The names of targets as members of an announced interest."""

from __future__ import annotations

from penstock.routing.interest_index import LocalTarget, Target


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
