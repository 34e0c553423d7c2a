"""Routers and subscribers are killed with SIGKILL, and links are broken, while documents flow."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.links import run
from support.service.kill_campaign import CampaignOptions, KillCampaign

SECONDS_MAX = 500.0


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(CampaignOptions(seed=1), id="chain"),
        pytest.param(
            CampaignOptions(
                seed=2,
                edges=(("a", "b"),),
                publishers=("a", "b"),
                secured=False,
                kills=3,
                partitions=0,
                cuts=False,
            ),
            id="insecure",
        ),
    ],
)
def test_every_subscriber_gets_every_document_once_and_in_order(
    tmp_path: Path, options: CampaignOptions
) -> None:
    campaign = KillCampaign(tmp_path, options)
    result = run(asyncio.wait_for(campaign.run(), SECONDS_MAX))
    assert sum(result.kills.values()) >= options.kills
    assert result.deliveries > 0
