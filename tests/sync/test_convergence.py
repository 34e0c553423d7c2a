"""Random histories with faults: each cache ends as the restriction of the server's document."""

from __future__ import annotations

import pytest

from penstock.sync.simulation import HistoryOptions, run_history
from support.contracts.native_engines import needs_native

pytestmark = needs_native

RESTORED_DELETIONS = (24, 94, 110, 191, 240)
"""Seeds in which a node, deleted before the checkpoint and restored after it, was missing when the
server was restored."""


@pytest.mark.parametrize("seed", [*range(40), *RESTORED_DELETIONS])
def test_caches_converge(seed: int) -> None:
    run_history(seed)


@pytest.mark.parametrize(
    "options",
    [
        HistoryOptions(loss=0.5, repetition=0.5, reordering=0.9),
        HistoryOptions(kill=0.2, horizon=8),
        HistoryOptions(clients=6, steps=300, document_nodes=40, offline=0.2),
        HistoryOptions(subscription_change=0.3, horizon=1_000),
        HistoryOptions(loss=0, repetition=0, reordering=0, kill=0, offline=0),
    ],
)
def test_caches_converge_under_each_kind_of_fault(options: HistoryOptions) -> None:
    for seed in range(5):
        run_history(seed, options)


def test_a_seed_determines_the_history() -> None:
    assert run_history(7) == run_history(7)
