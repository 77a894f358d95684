-- Purpose: which decisions need a second person. Returns: all rules, by id; the table is read whole, it has a row for each.
select rule_id, effects, tenants, classes, resolutions, least_amount, currency, window_closed, expires_seconds, enabled
from approval_rules
order by rule_id
