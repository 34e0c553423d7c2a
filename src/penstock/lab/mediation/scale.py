"""How large the experiments are."""

from __future__ import annotations

from dataclasses import dataclass

MEGABIT = 1_000_000
"""Bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The size of a run."""

    catalogues: int
    """Of how many schemas documents are measured; the paper: 40."""
    subscriptions: tuple[int, ...]
    """A router; the first is used where their number is not what is varied."""
    bandwidths: tuple[int, ...]
    """Bits a second."""
    bandwidth: int
    """Where it is not what is varied."""
    sizes: tuple[int, ...]
    """Bytes of documents."""
    size: int
    """Where it is not what is varied."""
    repeats: int
    repetitions: tuple[int, ...]
    """Children that an Exchange turns round."""
    socket_documents: int
    """Documents that travel over real sockets."""
    rewritten_subscriptions: int
    """Subscriptions that are rewritten for every local schema."""


FULL = Scale(
    catalogues=40,
    subscriptions=(1_000, 2_000, 4_000),
    bandwidths=(100 * MEGABIT, 50 * MEGABIT, 10 * MEGABIT),
    bandwidth=50 * MEGABIT,
    sizes=(10_000, 20_000, 40_000, 1_000_000),
    size=20_000,
    repeats=25,
    repetitions=(2, 4, 6, 8),
    socket_documents=40,
    rewritten_subscriptions=1_000,
)
QUICK = Scale(
    catalogues=4,
    subscriptions=(50, 100),
    bandwidths=(100 * MEGABIT, 10 * MEGABIT),
    bandwidth=50 * MEGABIT,
    sizes=(2_000, 4_000),
    size=2_000,
    repeats=1,
    repetitions=(2, 8),
    socket_documents=4,
    rewritten_subscriptions=20,
)
