-- Purpose: make a rule, or replace the one of that id, with its audit line.
-- Parameters: the columns of approval_rules, $11 who does it. Returns: nothing. Index: approval_rules' key.
with kept as (
  insert into approval_rules as a (
    rule_id, effects, tenants, classes, resolutions, least_amount, currency, window_closed, expires_seconds, enabled)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (rule_id) do update set
    effects = excluded.effects, tenants = excluded.tenants, classes = excluded.classes, resolutions = excluded.resolutions,
    least_amount = excluded.least_amount, currency = excluded.currency, window_closed = excluded.window_closed,
    expires_seconds = excluded.expires_seconds, enabled = excluded.enabled
  returning a.*
)
insert into audit_log (actor, action, detail)
select $11, 'set_rule', convert_to(json_strip_nulls(json_build_object(
  'ruleId', k.rule_id, 'effects', k.effects, 'tenants', k.tenants, 'classes', k.classes, 'resolutions', k.resolutions,
  'leastAmount', k.least_amount::text, 'currency', k.currency, 'windowClosed', k.window_closed,
  'expiresSeconds', k.expires_seconds, 'enabled', k.enabled))::text, 'UTF8')
from kept as k
