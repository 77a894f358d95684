-- Purpose, parameters, returns: see close_proposal_v1.
select outcome, state, proposer from close_proposal_v1($1, $2, $3, $4)
