-- Purpose: what goes wrong, as it was last set.
-- Parameters: none.
select faults from faults
