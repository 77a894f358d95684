-- Purpose: what is fixed at migration. Parameters: none. Returns: one row. Index: installation's key.
select shard_count, partition_count, incarnation from installation where only_row
