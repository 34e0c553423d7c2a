"""Long runs of the overlay: random scenarios in the simulator, and larger explorations.

Prints every violation with its seed or its list of actions, and exits 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from penstock.overlay.simulation import random_options, run_scenario
from penstock.overlay.simulation.explorer import SCENARIOS, ExplorationError, explore


def main() -> int:
    """Runs the scenarios and explorations that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=1_000, help="random scenarios to simulate")
    parser.add_argument("--peers", type=int, help="peers of a scenario, instead of 4 to 40 by seed")
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--states", type=int, default=30_000, help="states of each exploration")
    parser.add_argument("--complete-every", type=int, default=20)
    arguments = parser.parse_args()
    violations = 0
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.scenarios):
        options = random_options(seed)
        if arguments.peers is not None:
            options = replace(options, peers=arguments.peers)
        try:
            run_scenario(seed, options)
        except AssertionError as problem:
            violations += 1
            print(f"scenario {seed}: {problem}", flush=True)
    peers = "4 to 40" if arguments.peers is None else f"{arguments.peers:,}"
    seeds = f"from seed {arguments.first_seed}"
    print(f"scenarios: {arguments.scenarios}, {peers} peers, {seeds}", flush=True)
    for scenario in SCENARIOS if arguments.states else ():
        started = time.process_time()
        try:
            found = explore(
                scenario,
                states_max=arguments.states,
                complete_every=arguments.complete_every,
            )
        except ExplorationError as problem:
            violations += 1
            print(f"exploration {scenario.name!r}: {problem}", flush=True)
            continue
        seconds = time.process_time() - started
        print(
            f"exploration {scenario.name!r}: {found.states:,} states,"
            f" {found.transitions:,} transitions, {found.completions:,} completed runs,"
            f" {'all' if found.is_exhausted else 'first'} states in the budget, {seconds:.0f} s",
            flush=True,
        )
    print(f"violations: {violations}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
