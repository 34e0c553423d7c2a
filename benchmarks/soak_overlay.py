"""Long runs of the overlay: random scenarios in the simulator, and larger explorations.

Prints every violation with its seed or its list of actions, and exits 1 if there is one. The report
has a line for each scenario of the explorer: whether its states were exhausted, or that it was not
explored.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from penstock.lab.bench.machine_description import this_machine
from penstock.overlay.simulation import random_options, run_scenario
from penstock.overlay.simulation.explorer import SCENARIOS, ExplorationError, explore

RESULT = Path(__file__).parent / "results" / "soak-overlay.txt"

LARGE_PEERS = 1_000
"""Peers of a large scenario; others have 4 to 40, by seed."""


class Soak:
    """Runs scenarios and explorations, prints what was found, and remembers it."""

    def __init__(self) -> None:
        self.lines = ["make soak: overlay", str(this_machine()), ""]
        self.violations = 0

    def tell(self, line: str) -> None:
        """Prints a line of the report."""
        self.lines.append(line)
        print(line, flush=True)

    def simulate(self, first_seed: int, count: int, *, peers: int | None = None) -> None:
        """Runs random scenarios."""
        messages = 0
        started = time.process_time()
        for seed in range(first_seed, first_seed + count):
            options = random_options(seed)
            if peers is not None:
                options = replace(options, peers=peers)
            try:
                messages += run_scenario(seed, options).messages.total()
            except AssertionError as problem:
                self.violations += 1
                self.tell(f"scenario {seed}: {problem}")
        size = "4 to 40" if peers is None else f"{peers:,}"
        self.tell(
            f"{count:,} scenarios of {size} peers from seed {first_seed}: {messages:,} messages,"
            f" {time.process_time() - started:.0f} s"
        )

    def explore(self, states: int, complete_every: int) -> None:
        """Explores every scenario of the explorer; with no states, none."""
        for scenario in SCENARIOS:
            if not states:
                self.tell(f"exploration {scenario.name!r}: not explored")
                continue
            started = time.process_time()
            try:
                found = explore(scenario, states_max=states, complete_every=complete_every)
            except ExplorationError as problem:
                self.violations += 1
                self.tell(f"exploration {scenario.name!r}: {problem}")
                continue
            end = "exhausted" if found.is_exhausted else "not exhausted"
            self.tell(
                f"exploration {scenario.name!r}: {end}, {found.states:,} states,"
                f" {found.transitions:,} transitions, {found.completions:,} completed runs,"
                f" {time.process_time() - started:.0f} s"
            )


def main() -> int:
    """Runs the scenarios and explorations that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=1_000, help="random scenarios to simulate")
    parser.add_argument(
        "--large-scenarios", type=int, default=10, help=f"the same with {LARGE_PEERS:,} peers"
    )
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--states", type=int, default=30_000, help="states of each exploration")
    parser.add_argument("--complete-every", type=int, default=20)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    arguments = parser.parse_args()
    soak = Soak()
    if arguments.scenarios:
        soak.simulate(arguments.first_seed, arguments.scenarios)
    if arguments.large_scenarios:
        soak.simulate(arguments.first_seed, arguments.large_scenarios, peers=LARGE_PEERS)
    soak.tell(f"explorations: at most {arguments.states:,} states each")
    soak.explore(arguments.states, arguments.complete_every)
    soak.tell(f"violations: {soak.violations}")
    if arguments.write:
        RESULT.write_text("\n".join(soak.lines) + "\n", encoding="utf-8")
    return 1 if soak.violations else 0


if __name__ == "__main__":
    sys.exit(main())
