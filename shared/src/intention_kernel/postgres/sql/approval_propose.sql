-- Purpose, parameters, returns: see propose_decision_v1.
select outcome, proposal_id, proposer, state, version, settlement, continuation, owner, until
from propose_decision_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
