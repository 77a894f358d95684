"""Threads, turns, events and what was given up, over HTTP."""

from __future__ import annotations

from urllib.parse import quote

from intention_kernel.ports.identity import Scope
from intention_kernel.testing.boundary_calls import begun, commit_of, committed, origin_of, rejection_of, set_aside_of

from tests.api.bench import api, code, problem
from tests.conversations.bench import RESERVE, conversing


async def test_a_turn_and_its_trace_are_read_masked_and_within_a_reach(fresh_database: str) -> None:
    async with api(fresh_database) as app, conversing(fresh_database) as bench:
        ana = await app.caller()
        bound = await app.caller("bo", scope=Scope(frozenset({"another"})))
        receipt = await bench.lose_a_reservation("a/b")
        path = f"/v1/threads/{quote('a/b', safe='')}"
        thread = await ana.get(path)
        assert (thread.status_code, thread.json()["threadId"]) == (200, "a/b")
        events = (await ana.get(f"{path}/events?limit=2")).json()
        assert (len(events["items"]), events["more"]) == (2, True)
        later = (await ana.get(f"{path}/events?after={events['after']}")).json()
        assert later["items"][0]["sequence"] == events["after"] + 1
        turn = await ana.get("/v1/turns/a%2Fb/yes")
        assert (turn.json()["turnId"], turn.json()["status"]) == ("yes", "blocked")
        assert turn.json()["receipts"][0]["receiptId"] == receipt
        trace = await ana.get("/v1/turns/a%2Fb/yes/trace")
        assert (trace.json()["isProgram"], trace.json()["status"]) == (False, "blocked")
        said = await bench.turn("ask", "a/b")
        assert RESERVE in str(said)
        assert RESERVE not in (await ana.get("/v1/turns/a%2Fb/ask")).text
        for asked in (path, f"{path}/events", "/v1/turns/a%2Fb/yes", "/v1/turns/a%2Fb/yes/trace"):
            assert code(await bound.get(asked)) == (404, "not_found"), asked
            unknown = asked.replace("a%2Fb", "none")
            assert (await bound.get(asked)).content == (await bound.get(unknown)).content


async def test_what_was_given_up_is_redriven_or_dropped_once_a_key(fresh_database: str) -> None:
    async with api(fresh_database) as app, conversing(fresh_database) as bench:
        ana = await app.caller()
        bound = await app.caller("bo", scope=Scope(frozenset({"another"})))
        store = bench.store
        await committed(store, commit_of("a/t", "turn-1", await begun(store, "a/t", "turn-1")))
        for turn in ("turn-2", "turn-3"):
            await store.set_aside(set_aside_of("a/t", turn, await begun(store, "a/t", turn)))
        await store.reject(rejection_of(origin_of(value=b'{"text": "secret words"}'), "t", "turn-9"))
        first = await ana.get("/v1/rejected?limit=2")
        assert len(first.json()["items"]) == 2
        more = await ana.get(first.headers["link"].partition(">")[0].removeprefix("<"))
        listed = [line["id"] for line in [*first.json()["items"], *more.json()["items"]]]
        assert len(set(listed)) == 3
        assert (await bound.get("/v1/rejected")).json() == {"items": [], "cursor": None}
        [record] = [one for one in listed if "@" not in one]
        aside = [one for one in listed if "@" in one]
        path = f"/v1/rejected/{quote(record, safe='')}"
        shown = await ana.get(path)
        assert shown.status_code == 200
        assert "secret" not in shown.text
        assert code(await bound.get(path)) == (404, "not_found")
        turn = f"/v1/rejected/{quote(aside[0], safe='')}"
        assert code(await ana.post(f"{turn}/redrive", {}, key=None)) == (400, "idempotency_key_missing")
        dry = await ana.post(f"{turn}/redrive?dryRun=true", {}, key=None)
        assert dry.json()["outcome"] in ("would_redrive", "later_turns")
        body = {"reason": "back", "afterLaterTurns": True}
        made = await ana.post(f"{turn}/redrive", body, key="k")
        assert (made.status_code, made.json()["outcome"]) == (200, "redriven")
        assert (await ana.post(f"{turn}/redrive", body, key="k")).json() == made.json()
        over = problem(await ana.post(f"{turn}/redrive", body | {"reason": "other"}, key="k"))
        assert (over["code"], over["state"]) == ("closed", "redriven")
        other = f"/v1/rejected/{quote(aside[1], safe='')}/drop"
        assert (await ana.post(other, {"reason": "r"}, key="d")).json()["outcome"] == "dropped"
        assert (await ana.post(other, {"reason": "r"}, key="d")).json()["outcome"] == "dropped"
        assert code(await ana.post(other, {"reason": "r"})) == (409, "closed")
        assert code(await bound.post(other, {"reason": "r"})) == (404, "not_found")
        assert code(await ana.get("/v1/rejected?cursor=x")) == (400, "bad_cursor")
