"""Long runs of the overlay: random scenarios in the simulator, and larger explorations.

Prints every violation with its seed or its list of actions, and exits 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time

from penstock.overlay.simulation import run_scenario
from penstock.overlay.simulation.explorer import SCENARIOS, ExplorationError, explore


def main() -> int:
    """Runs the scenarios and explorations that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=1_000, help="random scenarios to simulate")
    parser.add_argument("--first-seed", type=int, default=10_000)
    parser.add_argument("--states", type=int, default=30_000, help="states of each exploration")
    parser.add_argument("--complete-every", type=int, default=20)
    arguments = parser.parse_args()
    violations = 0
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.scenarios):
        try:
            run_scenario(seed)
        except AssertionError as problem:
            violations += 1
            print(f"scenario {seed}: {problem}", flush=True)
    print(f"scenarios: {arguments.scenarios}, from seed {arguments.first_seed}", flush=True)
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
