-- Purpose: what goes wrong from now on.
-- Parameters: faults (JSON).
insert into faults (one, faults) values (1, :faults) on conflict (one) do update set faults = excluded.faults
