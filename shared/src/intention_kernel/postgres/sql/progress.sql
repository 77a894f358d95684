-- Purpose: how far the partitions of a topic are done, and whether a recovery is unfinished (protocol R39).
-- Parameters: $1 topic, $2 partitions. Returns: one row a partition, without offsets where nothing was stored.
-- Index: partition_progress' key.
select w.partition, p.done_offset, p.restore_until, i.recovering
from unnest($2::integer[]) as w (partition)
cross join installation as i
left join partition_progress as p on p.topic = $1::text and p.partition = w.partition
