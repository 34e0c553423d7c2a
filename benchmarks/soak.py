"""Kills the pipeline a hundred times: ``make soak``.

The tests do the same a few times. After ``KILLS_EACH`` kills, the inbox is drained, the tables are
compared with their expected content, the result is written, and a new workspace begins.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from penstock.lab.bench.machine_description import this_machine  # noqa: E402
from support.spark.delivery_audit import Audit  # noqa: E402
from support.spark.kill_campaign import Campaign, Moment, summary  # noqa: E402
from support.spark.pipeline_process import Victim  # noqa: E402

KILLS_EACH = 10
"""Kills per workspace."""

RESULT = ROOT / "benchmarks" / "results" / "soak.txt"


def main() -> None:
    """Kill the pipeline the given number of times."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    kills: Counter[tuple[Victim, Moment]] = Counter()
    found = Audit(0, 0, 0, 0)
    text = ""
    while kills.total() < given.kills:
        seed = given.seed + kills.total()
        say(f"a new workspace, seed {seed}")
        with tempfile.TemporaryDirectory(prefix="penstock-soak-") as folder:
            campaign = Campaign(Path(folder), seed, say)
            found += campaign.run(min(KILLS_EACH, given.kills - kills.total()))
        kills += campaign.kills
        lines = ["make soak", str(this_machine()), "", *summary(kills, found)]
        text = "\n".join([*lines, f"seed: {given.seed}"]) + "\n"
        RESULT.write_text(text, encoding="utf-8")
    say(text)


def say(line: str) -> None:
    """Print a line and flush it, so that it appears through a pipe at once."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
