-- Purpose: the operator queue, for a history.
-- Parameters: none. Returns one row an item. Indexes: none; it is asked of installations of a test or a demo.
select thread_id, effect_key, settlement, kind, phase, turn_id from reconciliation_items order by thread_id, effect_key, settlement, kind
