"""Kills routers and subscribers and breaks links a hundred times: ``make soak``.

The tests do the same a few times. Each round is a new network of five routers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from penstock.lab.bench.machine_description import this_machine  # noqa: E402
from penstock.links import run  # noqa: E402
from support.service.kill_campaign import CampaignOptions, CampaignResult, KillCampaign  # noqa: E402

KILLS_EACH = 10
"""Kills per network."""

RESULT = ROOT / "benchmarks" / "results" / "soak-routers.txt"
TREE = (("a", "b"), ("a", "c"), ("b", "d"), ("b", "e"))


def main() -> None:
    """Kill routers and subscribers the given number of times."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    kills: Counter[str] = Counter()
    deliveries = cuts = networks = 0
    while kills.total() < given.kills:
        options = CampaignOptions(
            seed=given.seed + networks,
            edges=TREE,
            publishers=("a", "d"),
            documents=400,
            kills=min(KILLS_EACH, given.kills - kills.total()),
            partitions=2,
            secured=networks % 2 == 0,
        )
        say(f"a new network, seed {options.seed}")
        with tempfile.TemporaryDirectory(prefix="penstock-soak-") as folder:
            result = run(_campaign(Path(folder), options))
        networks += 1
        deliveries += result.deliveries
        cuts += result.cuts
        kills += result.kills
        say(f"  {result.deliveries} deliveries in {result.seconds:.0f} s; {dict(result.kills)}")
    lines = [
        "make soak: routers",
        str(this_machine()),
        "",
        f"{networks} networks of 5 routers, with a subscriber process at each",
        f"{kills.total()} kills with SIGKILL: "
        + ", ".join(f"{count} of {each}" for each, count in sorted(kills.items())),
        f"{cuts} connections cut by a proxy, {2 * networks} partitions",
        f"{deliveries} deliveries, each once and in the order of its publisher; none is missing",
        f"seed: {given.seed}",
    ]
    text = "\n".join(lines) + "\n"
    RESULT.write_text(text, encoding="utf-8")
    say(text)


async def _campaign(folder: Path, options: CampaignOptions) -> CampaignResult:
    return await asyncio.wait_for(KillCampaign(folder, options).run(), 1_200)


def say(line: str) -> None:
    """Print a line and flush it, so that it appears through a pipe at once."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
