-- Purpose: tell the relays that the outbox has something. Never inside the transaction that filled it.
-- Parameters: none. Returns: nothing of use. Index: none.
select pg_notify('intention_outbox', '')
