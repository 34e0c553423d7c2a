"""A deterministic simulator of a server and its clients, over a network with faults."""

from penstock.sync.simulation.simulator import (
    Divergence,
    HistoryOptions,
    HistorySummary,
    options_of_seed,
    run_history,
)

__all__ = ["Divergence", "HistoryOptions", "HistorySummary", "options_of_seed", "run_history"]
