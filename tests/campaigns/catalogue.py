"""All campaigns, in the order in which they run."""

from __future__ import annotations

from tests.campaigns.campaign import Campaign
from tests.campaigns.faults import (
    clock,
    deploys,
    disk,
    failpoints,
    kafka,
    kills,
    malformed,
    network,
    owners,
    pauses,
    poison,
    pool,
    postgres,
    rebalances,
    restore,
    slow_thread,
)

CAMPAIGNS: dict[str, Campaign] = {
    campaign.name: campaign
    for campaign in (
        kills.CAMPAIGN,
        postgres.CAMPAIGN,
        network.CAMPAIGN,
        pool.CAMPAIGN,
        disk.CAMPAIGN,
        clock.CAMPAIGN,
        failpoints.CAMPAIGN,
        pauses.CAMPAIGN,
        owners.CAMPAIGN,
        rebalances.CAMPAIGN,
        slow_thread.CAMPAIGN,
        kafka.CAMPAIGN,
        malformed.CAMPAIGN,
        poison.CAMPAIGN,
        deploys.CAMPAIGN,
        restore.CAMPAIGN,
    )
}
