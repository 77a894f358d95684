-- Purpose, parameters, returns: see redrive_turn_v1.
select outcome, state, turn_id, is_rebased, later_count, later_turns, receipt_ids, effect_keys, receipt_states, contradictions
from redrive_turn_v1($1, $2, $3, $4, $5, $6, $7)
