-- Purpose: an effect happens. The reference is made of the sequence that the row gets.
-- Parameters: op, thread_id, key, attempt, payload, prefix.
-- Returns: the reference.
insert into ledger (op, thread_id, key, attempt, payload, reference)
select :op, :thread_id, :key, :attempt, :payload,
  :prefix || printf('-%06d', coalesce((select max(sequence) from ledger), 0) + 1)
returning reference
