-- Purpose: the partition count of the request topic that the first migration stored.
-- Parameters: none. Returns: one row. Index: none needed, the table has one row.
select partition_count from installation
