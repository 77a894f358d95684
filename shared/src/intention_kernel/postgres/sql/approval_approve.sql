-- Purpose, parameters, returns: see approve_proposal_v1.
select outcome, state, version, settlement, continuation, owner, until from approve_proposal_v1($1, $2, $3, $4, $5)
