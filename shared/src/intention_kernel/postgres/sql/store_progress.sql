-- Purpose: every record of these partitions before these offsets has its row (protocol R39). An offset never goes back.
-- Parameters: $1 topic, $2 partitions, $3 offsets. Returns: nothing. Index: partition_progress' key.
insert into partition_progress as p (topic, partition, done_offset)
select $1::text, w.partition, w.done_offset
from unnest($2::integer[], $3::bigint[]) as w (partition, done_offset) order by w.partition
on conflict (topic, partition) do update set done_offset = excluded.done_offset
where p.done_offset < excluded.done_offset
