"""What assistive technology reads: one main heading, headings in order, a label for each field, a caption for each table."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.reconciliation.queue import Decision, resolve

from tests.console.bench import Page, console


def _problems(page: Page) -> list[str]:
    elements = page.elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    labelled = {attributes.get("for") for tag, attributes in elements if tag == "label"}
    found = [f"id {one} is there {ids.count(one)} times" for one in set(ids) if ids.count(one) > 1]
    levels = [int(tag[1]) for tag, _ in elements if tag in ("h1", "h2", "h3", "h4")]
    if levels.count(1) != 1 or levels[0] != 1:
        found.append(f"headings {levels}")
    found += [f"h{after} after h{before}" for before, after in pairwise(levels) if after > before + 1]
    for tag, attributes in elements:
        named = attributes.get("id") in labelled or "aria-label" in attributes
        if (
            tag in ("input", "select", "textarea")
            and attributes.get("type") not in ("hidden", "checkbox", "radio")
            and not named
        ):
            found.append(f"{tag} {attributes} has no label")
        for name in ("aria-labelledby", "aria-describedby", "for"):
            found += [f"{name} {one}" for one in attributes.get(name, "").split() if one not in ids]
        if tag == "time":
            datetime.fromisoformat(attributes["datetime"])
    tables = [tag for tag, _ in elements if tag in ("table", "caption")]
    if tables.count("table") > tables.count("caption") + page.text.count('class="words"'):
        found.append(f"tables without captions: {tables}")
    if not {"header", "main"} <= {tag for tag, _ in elements}:
        found.append("no landmarks")
    return found + page.inline


async def test_every_page_is_well_made(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, other = await made.db.uncertain("t-1"), await made.db.uncertain("t-2", "shop.charge:2")
        undecided = await made.db.uncertain("t-3", "shop.charge:3")
        await made.db.receipts.scan(10)
        await made.db.receipts.set_rule(ApprovalRule("all"), "admin")
        for one in (receipt, other):
            decision = Decision(
                one, "applied", "seen", "operator", value={"charge": "c"}, evidence="https://a.example/"
            )
            await resolve(made.db.receipts, decision)
        admin = await made.signed_in("admin")
        await admin.post("/settings/tokens", {"label": "mine", "days": "3", "all": "yes"})
        paths = (
            "/",
            "/queue",
            "/queue?q=x:y",
            "/proposals",
            f"/receipts/{receipt}",
            "/threads",
            "/threads/t-1",
            "/rejected",
        )
        for path in (
            *paths,
            f"/receipts/{undecided}",
            "/audit",
            "/settings",
            "/users",
            "/rules",
            "/nothing",
            "/threads/t-1/turns/turn-1",
        ):
            page = await admin.get(path)
            assert not _problems(page), (path, _problems(page))
        assert not _problems(await made.stranger().get("/login"))
