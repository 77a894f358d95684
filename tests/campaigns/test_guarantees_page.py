"""docs/guarantees.md tells of every campaign, of every rule of the checker, and of a bug for every rule of the protocol."""

from __future__ import annotations

import re

import pytest

from tests.campaigns.catalogue import CAMPAIGNS
from tests.campaigns.mutated import BUGS, DOCUMENT, ROOT, Bug, begins

PAGE = DOCUMENT.read_text("utf-8")
RULES = re.compile(r'(?:Finding\(\s*|rule = |rule: str = )"([a-z-]+)"')


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_page_tells_of_a_campaign_and_its_count(name: str) -> None:
    campaign = CAMPAIGNS[name]
    assert f"| `{name}` | {campaign.title} | {campaign.count:,} {campaign.unit} |" in PAGE


def test_the_page_tells_of_every_rule_of_the_checker() -> None:
    sources = (ROOT / "shared/src/intention_kernel/history").glob("check*.py")
    rules = {rule for source in sources for rule in RULES.findall(source.read_text("utf-8"))}
    assert len(rules) > 15
    assert not [rule for rule in sorted(rules) if f"`{rule}`" not in PAGE]


def test_every_rule_of_the_protocol_was_switched_off_once_and_caught() -> None:
    rows = re.findall(r"^\| R(\d+) \| .* \| `test_.* \|$", PAGE, re.MULTILINE)
    assert [number for number in range(1, 40) if str(number) not in rows] == []


def test_what_caught_a_rule_stands_in_the_table_of_mutations() -> None:
    mutations = (ROOT / "docs" / "mutations.md").read_text("utf-8")
    told = set(re.findall(r"`(test_[a-z0-9_]+)[\[`]", "\n".join(re.findall(r"^\| R\d+ .*$", PAGE, re.MULTILINE))))
    assert not [name for name in sorted(told) if name not in mutations]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.mutation}-{bug.campaign}")
def test_a_bug_that_was_put_into_a_campaign_was_found(bug: Bug) -> None:
    [line] = [line for line in PAGE.splitlines() if line.startswith(begins(bug))]
    assert not line.endswith(("not run |", "not found |"))
