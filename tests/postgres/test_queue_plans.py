"""What people do to one receipt reads that receipt's rows, however many others there are."""

from __future__ import annotations

import re

import asyncpg
import pytest
from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.ports.identity import Scope
from intention_kernel.ports.queue_work import AuditQuery
from intention_kernel.postgres.operator_queue import open_queue
from intention_kernel.reconciliation import approving, work
from intention_kernel.reconciliation.contest import Doubt, contest
from intention_kernel.reconciliation.queue import Decision, Resolved, resolve
from intention_kernel.reconciliation.showing import show

from tests.postgres.test_plans import EXPLAIN, FILL, query, scans
from tests.reconciliation.bench import ledger

_MORE = """
insert into audit_log (actor, action, thread_id, effect_key, detail)
select 'ana', 'settle', 'filler-' || n, 'key', '{}' from generate_series(1, 3000) as n;
insert into decisions (decision_id, thread_id, effect_key, settlement, resolution, reason, actor)
select n::text, 'filler-' || n, 'key', 1, 'applied', '', 'ana' from generate_series(1, 3000) as n;
insert into reconciliation_items (thread_id, effect_key, settlement, phase, reason)
select 'filler-' || n, 'key', 1, case when n < 300 then 'open' else 'done' end, '' from generate_series(1, 3000) as n;
insert into receipt_work (thread_id, effect_key) select 'filler-' || n, 'key' from generate_series(1, 3000) as n;
insert into receipt_notes (thread_id, effect_key, note_id, kind, actor, body)
select 'filler-' || n, 'key', 'n', 'comment', 'ana', '' from generate_series(1, 3000) as n;
insert into observations (thread_id, effect_key, settlement, receipt_version, source, finding, detail, started_at)
select 'filler-' || n, 'key', 1, 1, 'lookup', 'absent', '', now() from generate_series(1, 3000) as n;
insert into proposals (proposal_id, thread_id, effect_key, seen_version, resolution, decision_id, reason, proposer,
                       workers_stopped, decision_hash, rules, expires_at, state)
select n::text, 'filler-' || n, 'key', 2, 'applied', n::text, '', 'ana', false, 'h', '{}', now() + interval '1 hour',
       case when n < 300 then 'proposed' else 'approved' end from generate_series(1, 3000) as n;
insert into processes (instance, boot) select 'filler-' || n, gen_random_uuid() from generate_series(1, 300) as n;
analyze;
"""

# One row in all, or one for each rule: read whole.
_SMALL = {"installation", "approval_rules"}


@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
async def test_no_statement_of_the_queue_scans_a_table(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch, filled: bool
) -> None:
    plans: list[str] = []
    connect = asyncpg.connect

    async def explaining_connect(*arguments: object, **options: object) -> asyncpg.Connection:
        connection: asyncpg.Connection = await connect(*arguments, **options)  # type: ignore[call-overload]
        if "server_settings" in options:  # the queue's own
            connection.add_log_listener(lambda _, message: plans.append(str(message.message)))
            await connection.execute(EXPLAIN)
        return connection

    async with ledger(fresh_database) as db:
        receipt = await db.uncertain(returned=True)
        other = await db.uncertain("other", returned=True)
        await db.receipts.scan(10)
        if filled:
            await db.connection.execute("set session_replication_role = replica")
            await db.connection.execute(FILL + _MORE)
        monkeypatch.setattr("intention_kernel.postgres.pool.asyncpg.connect", explaining_connect)
        async with open_queue(fresh_database, pool_size=1) as queue:
            task = work.Task(receipt, "ana")
            await work.claim(queue, task)
            await work.snooze(queue, task, None)
            await work.probe(queue, task)
            await work.comment(queue, task, "words")
            await show(queue, receipt)
            for dry_run in (True, False):
                decision = Decision(receipt, "applied", "r", "ana", value={"charge": "c"})
                await resolve(queue, decision, dry_run=dry_run)
            await contest(queue, Doubt(receipt, "r", "ana"))
            await queue.set_rule(ApprovalRule("everything"), "ana")
            for actor in ("ana", "ana", "ben"):
                decision = Decision(other, "applied", "r", actor, value={"charge": "c"})
                await resolve(queue, decision, dry_run=True)
                answer = await resolve(queue, decision)
                proposal = await queue.proposal_of(other)
                assert proposal is not None, answer
                if actor == "ana":
                    await approving.withdraw(queue, proposal.proposal_id, actor)
            assert proposal is not None
            await approving.reject(queue, proposal.proposal_id, "ben", "r")
            await resolve(queue, decision)
            await queue.proposals(Scope(), 5)
            proposal = await queue.proposal_of(other)
            assert proposal is not None
            approved = await approving.approve(queue, proposal.proposal_id, proposal.decision_hash, "ana")
            assert isinstance(approved, Resolved)
            await work.release(queue, task)
            await queue.audit(AuditQuery(limit=5))
            await queue.audit(AuditQuery(receipt, limit=5))
    problems = set()
    looked_at = 0
    for plan in plans:
        for line, node in scans(plan):
            table = re.search(r" on (\w+)", line)
            if table is None or table[1] in _SMALL or table[1].startswith("pg_"):
                continue
            looked_at += 1
            if "Index Cond" not in node:
                problems.add(f"{line.split('  (')[0]} in {query(plan)}")
    assert not problems, "\n".join(sorted(problems))
    assert looked_at > 50
