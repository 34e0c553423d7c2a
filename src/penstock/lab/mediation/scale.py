"""The scale of the mediation experiments."""

from __future__ import annotations

from dataclasses import dataclass

MEGABIT = 1_000_000
"""Bits per megabit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The numbers of catalogues, subscriptions and documents of a run."""

    catalogues: int
    """Number of local schemas; the paper uses 40."""
    subscriptions: tuple[int, ...]
    """Subscriptions per router; the first is the default."""
    bandwidths: tuple[int, ...]
    """Bits per second."""
    bandwidth: int
    """The default bandwidth."""
    sizes: tuple[int, ...]
    """Document sizes in bytes."""
    size: int
    """The default document size."""
    repeats: int
    repetitions: tuple[int, ...]
    """Numbers of children of an Exchange."""
    socket_documents: int
    """Documents sent over real sockets."""
    rewritten_subscriptions: int
    """Subscriptions rewritten for every local schema."""


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
