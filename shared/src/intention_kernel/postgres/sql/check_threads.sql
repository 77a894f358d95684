-- Purpose: which builds the live threads belong to, and how much of them is unfinished, before a deploy. Parameters: none.
-- Returns: one row for each agent, fingerprint and schema revision, in that order: threads; journals, the turns of those
--   threads that hold a journal. Index: none; threads and turn_journal are read once (checkpoints are stored apart).
select t.agent_id, t.fingerprint, t.schema_revision, count(*) as threads, coalesce(sum(j.turns), 0)::bigint as journals
from threads as t
left join (select thread_id, count(distinct turn_id) as turns from turn_journal group by thread_id) as j using (thread_id)
where t.state = 'live' and t.fingerprint is not null
group by t.agent_id, t.fingerprint, t.schema_revision
order by t.agent_id, t.fingerprint, t.schema_revision
