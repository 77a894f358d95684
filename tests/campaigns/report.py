"""What campaigns came to, for people and as one JSON object."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tests.campaigns.campaign import Campaign, Result

_SHOWN = 20
_LONGEST_LINE = 600


def told(campaign: Campaign, result: Result, seconds: float) -> Iterator[str]:
    """The lines about one campaign."""
    found = [*(f"finding  {finding}" for finding in result.findings), *(f"problem  {one}" for one in result.problems)]
    yield f"{campaign.name}: {'well' if result.agrees else f'{len(found)} WRONG'} in {seconds:.1f} s"
    yield from (f"  {_cut(line)}" for line in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"  … and {len(found) - _SHOWN} more"
    yield f"  {json.dumps(dict(result.counts))}"


def total(seed: int, results: Mapping[str, Result], seconds: float) -> str:
    """The last line of a run: one JSON object of counts."""
    counts: Counter[str] = Counter()
    for result in results.values():
        counts.update(_whole(result.counts))
    return json.dumps(
        {
            "campaigns": len(results),
            "passed": sum(result.agrees for result in results.values()),
            "failed": [name for name, result in results.items() if not result.agrees],
            "findings": sum(len(result.findings) for result in results.values()),
            "problems": sum(len(result.problems) for result in results.values()),
            **counts,
            "seconds": round(seconds, 1),
            "seed": seed,
        }
    )


def _whole(counts: Mapping[str, int | float]) -> dict[str, int]:
    """What may be added up: numbers of things, not seconds."""
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def listed(campaigns: Sequence[Campaign]) -> Iterator[str]:
    """One line a campaign, for `--list`."""
    for campaign in campaigns:
        yield f"{campaign.name:<14} {campaign.count:>6} {campaign.unit:<12} {campaign.title}"


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} …"
