"""The list, what was given up, conversations, and what is told while a page is open."""

from __future__ import annotations

import json
import re

import httpx
from intention_kernel.postgres.packing import pack
from intention_kernel.reconciliation import work
from intention_kernel.reconciliation.work import Task
from intention_kernel.testing.boundary_calls import begun, set_aside_of
from receipt_reconciler.web.serving import serving

from tests.console.bench import PASSWORD, console
from tests.conversations.bench import conversing


async def test_the_list_is_the_filters_and_its_pages_follow_each_other(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        for number in range(53):
            await made.db.uncertain(f"t-{number}", f"shop.charge:{number}")
        await made.db.receipts.scan(100)
        browser = await made.signed_in("viewer")
        first = await browser.get("/queue?q=status:uncertain")
        following = re.search(r'<a class="button" href="(/queue\?[^"]+)" rel="next">', first.text)
        assert following is not None
        second = await browser.get(following[1].replace("&amp;", "&"))
        rows = [re.findall(r'data-receipt="([0-9a-f]{32})"', page.text) for page in (first, second)]
        assert [len(found) for found in rows] == [50, 3]
        assert len({*rows[0], *rows[1]}) == 53
        assert 'rel="next"' not in second.text
        assert (await browser.get("/queue?cursor=nonsense")).status == 400
        none = await browser.get("/queue?q=provider:nobody")
        assert "Nothing matches" in none.words
        overview = await browser.get("/")
        assert re.search(r"Needs a person 53 ", overview.words)


async def test_a_text_that_is_no_filter_is_told_with_its_place_and_kept(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = await made.signed_in("viewer")
        page = await browser.get("/queue?q=statsu:uncertain")
        assert page.status == 400
        assert "At character 1" in page.words
        assert 'href="/queue?q=status%3Auncertain"' in page.text
        assert page.form("/queue")["q"] == "statsu:uncertain"
        assert "how long the provider still knows the key" in page.words


async def test_claims_and_snoozes_are_shown_and_quick_filters_find_them(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        mine, snoozed = await made.db.uncertain("t-1"), await made.db.uncertain("t-2", "shop.charge:2")
        await made.db.receipts.scan(10)
        await work.claim(made.db.receipts, Task(mine, "operator"), 900)
        await work.snooze(made.db.receipts, Task(snoozed, "operator"), 900.0)
        browser = await made.signed_in("operator")
        page = await browser.get("/queue")
        assert "you, 1" in page.words
        assert snoozed not in page.text
        links = dict(re.findall(r'<a href="(/queue[^"]*)"[^>]*>(Mine|Snoozed|Unclaimed)<', page.text))
        found = {name: (await browser.get(href.replace("&amp;", "&"))).text for href, name in links.items()}
        assert (mine in found["Mine"], mine in found["Unclaimed"]) == (True, False)
        assert snoozed in found["Snoozed"]


async def test_what_was_given_up_is_sent_again_or_dropped_with_a_reason(fresh_database: str) -> None:
    async with conversing(fresh_database) as talk, console(fresh_database) as made:
        await talk.say("turn-1", "how many are there?", "u/1", None)
        for turn in ("turn-2", "turn-3"):
            await talk.store.set_aside(set_aside_of("u/1", turn, await begun(talk.store, "u/1", turn)))
        admin = await made.signed_in("admin")
        listed = await admin.get("/rejected")
        hrefs = re.findall(r'<a href="(/rejected/[^"]+)" data-open>set-aside turn', listed.text)
        assert hrefs == ["/rejected/u%2F1%403", "/rejected/u%2F1%402"]
        page = await admin.get(hrefs[0])
        assert (await page.send(f"{hrefs[0]}/redrive", reason=" ")).status == 422
        redriven = await page.send(f"{hrefs[0]}/redrive", reason="it is fixed")
        assert "Its request is on its way again." in redriven.words
        assert (await page.send(f"{hrefs[0]}/drop", reason="no")).status == 409
        dropped = await (await admin.get(hrefs[1])).send(f"{hrefs[1]}/drop", reason="the customer called")
        assert "It is given up for ever." in dropped.words
        lines = [line["action"] for line in await made.db.all("audit_log") if line["thread_id"] == "u/1"]
        assert sorted(lines) == ["drop", "redrive"]
        viewer = await made.signed_in("viewer")
        assert not (await viewer.get(hrefs[0])).has_form(f"{hrefs[0]}/redrive")
        assert (await viewer.post(f"{hrefs[0]}/drop", {"reason": "x"})).status == 403
        assert (await viewer.get("/rejected/nothing")).status == 404


async def test_a_turn_is_shown_proposed_planned_and_happened(fresh_database: str) -> None:
    async with conversing(fresh_database) as talk, console(fresh_database) as made:
        receipt = await talk.lose_a_reservation("t")
        browser = await made.signed_in("viewer")
        page = await browser.get("/threads/t/turns/yes")
        assert page.status == 200
        for words in ("Proposed, planned, happened", "inventory.reserve", "nobody knows"):
            assert words in page.words, words
        assert f'href="/receipts/{receipt}"' in page.text
        assert "FILTER-A" not in page.words.replace("the reservation of 2 FILTER-A", "")
        admin = await made.signed_in("admin")
        shown = await (await admin.get("/threads/t/turns/yes")).send("/threads/t/turns/yes/reveal", reason="to see")
        assert "FILTER-A" in shown.words.replace("the reservation of 2 FILTER-A", "")
        events = await browser.get("/threads/t/events?after=0")
        assert [int(one) for one in re.findall(r'data-sequence="(\d+)"', events.text)][:3] == [1, 2, 3]


async def test_changes_are_told_while_a_page_is_open_and_only_to_who_is_signed_in(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        await made.db.uncertain("t-1")
        await made.db.receipts.scan(10)
        other = await made.db.uncertain("t-2", "shop.charge:2")
        async with (
            serving(made.app, "127.0.0.1", 0, made.desk.stopping) as port,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
        ):
            assert (await client.get("/live")).status_code == 303
            form = {"name": "viewer", "password": PASSWORD, "next": "/"}
            await client.post("/login", data=form, headers={"Sec-Fetch-Site": "same-origin"})
            async with client.stream("GET", "/live?q=") as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                told = []
                async for line in stream.aiter_lines():
                    if line.startswith("data: "):
                        told.append(json.loads(line.removeprefix("data: ")))
                    if len(told) == 1:
                        await made.db.receipts.scan(10)
                    if len(told) == 2:
                        break
        assert told[0]["receipts"] == []
        assert told[1]["receipts"] == [other]


async def test_a_conversation_is_shown_with_what_it_waits_for_and_new_events(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        thread = "shop/7 & co"
        receipt = await made.db.uncertain(thread)
        await made.db.receipts.scan(10)
        await made.db.connection.execute(
            "insert into blocked_steps (thread_id, effect_key, turn_id, revision) values ($1, 'shop.charge:1', 'turn-1', 1)",
            thread,
        )
        await made.db.connection.execute(
            "update threads set checkpoint = $2 where thread_id = $1", thread, pack(b'{"facts":{"card":"4111-SECRET"}}')
        )
        browser = await made.signed_in("viewer")
        assert (await browser.get("/threads?id=shop/7+%26+co")).url.endswith("/threads/shop%2F7%20%26%20co")
        page = await browser.get("/threads/shop%2F7%20%26%20co")
        assert page.status == 200
        assert "waits for" in page.words
        assert f'href="/receipts/{receipt}"' in page.text
        assert "text of 11 characters" in page.words
        assert "4111-SECRET" not in page.text
        tail = await browser.get("/threads/shop%2F7%20%26%20co/events?after=99999999999999999999999")
        assert (tail.status, tail.text.strip()) == (200, "")
        assert (await browser.get("/threads/nobody")).status == 404
        admin = await made.signed_in("admin")
        shown = await (await admin.get("/threads/shop%2F7%20%26%20co")).send(
            "/threads/shop%2F7%20%26%20co/reveal", reason="the bank asks"
        )
        assert "4111-SECRET" in shown.text
