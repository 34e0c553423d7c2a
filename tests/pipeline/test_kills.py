"""The pipeline survives ``kill -9`` of any of its processes at any moment."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.spark.kill_campaign import Campaign, summary
from support.spark.session import need_java

KILLS = 5
"""In every run of the tests; ``make soak`` does a hundred."""


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes to kill in Linux's /proc")
def test_every_delivery_is_made_once_whatever_is_killed_and_when(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    need_java()
    seed = int(os.environ.get("PENSTOCK_KILL_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"\nPENSTOCK_KILL_SEED={seed} kills the same at the same moments")
    campaign = Campaign(tmp_path, seed, print)
    for line in summary(campaign.kills, campaign.go(KILLS)):
        record_property("summary_line", line)
    assert campaign.kills.total() == KILLS
