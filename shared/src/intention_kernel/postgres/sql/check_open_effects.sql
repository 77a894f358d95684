-- Purpose: the effects of which receipts are open, before a deploy. Parameters: none.
-- Returns: one row for each agent and effect, in that order: prepared and uncertain, how many receipts are in that state.
-- Index: receipts_open_idx, whose size does not grow with settled receipts.
select agent_id, effect_id, count(*) filter (where state = 'prepared') as prepared,
       count(*) filter (where state = 'uncertain') as uncertain
from receipts where (state in ('prepared', 'uncertain') or contradicted) and state in ('prepared', 'uncertain')
group by agent_id, effect_id order by agent_id, effect_id
