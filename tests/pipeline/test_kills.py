"""The pipeline survives ``kill -9`` of any of its processes at any time."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.spark.kill_campaign import Campaign, summary
from support.spark.session import require_java

KILLS = 5
"""Kills in the test suite; ``make soak`` does a hundred."""


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes to kill in Linux's /proc")
def test_deliveries_are_exactly_once_whatever_is_killed(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    require_java()
    seed = int(os.environ.get("PENSTOCK_KILL_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"\nrepeat with PENSTOCK_KILL_SEED={seed}")
    campaign = Campaign(tmp_path, seed, print)
    for line in summary(campaign.kills, campaign.run(KILLS)):
        record_property("summary_line", line)
    assert campaign.kills.total() == KILLS
