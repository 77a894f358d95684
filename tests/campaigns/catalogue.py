"""All campaigns, in the order in which they run."""

from __future__ import annotations

from tests.campaigns.campaign import Campaign
from tests.campaigns.faults import kills

CAMPAIGNS: dict[str, Campaign] = {campaign.name: campaign for campaign in (kills.CAMPAIGN,)}
