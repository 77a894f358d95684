-- Purpose, parameters, returns: see care_for_continuations_v1.
select done, reissued, republished, failed from care_for_continuations_v1($1, $2, $3, $4, $5)
