"""What a server says about a clone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CloneDescription:
    """A clone that a server knows."""

    client: str
    version: int
    """The version that it has acknowledged."""
    query: str
