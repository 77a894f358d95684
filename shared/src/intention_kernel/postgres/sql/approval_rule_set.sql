-- Purpose: make a rule, or replace the one of that id, with its audit line; once an operation.
-- Parameters: the columns of approval_rules, $11 who does it, $12 id of the operation. Returns: nothing.
-- Indexes: approval_rules' key, audit_log_operation_uq.
with kept as (
  insert into approval_rules as a (
    rule_id, effects, tenants, classes, resolutions, least_amount, currency, window_closed, expires_seconds, enabled)
  select $1, $2::text[], $3::text[], $4::text[], $5::text[], $6::numeric, $7, $8::boolean, $9::double precision, $10::boolean
  where not exists (select from audit_log as l where l.operation_id = $12)
  on conflict (rule_id) do update set
    effects = excluded.effects, tenants = excluded.tenants, classes = excluded.classes, resolutions = excluded.resolutions,
    least_amount = excluded.least_amount, currency = excluded.currency, window_closed = excluded.window_closed,
    expires_seconds = excluded.expires_seconds, enabled = excluded.enabled
  returning a.*
)
insert into audit_log (actor, action, operation_id, detail)
select $11, 'set_rule', $12, convert_to(json_strip_nulls(json_build_object(
  'ruleId', k.rule_id, 'effects', k.effects, 'tenants', k.tenants, 'classes', k.classes, 'resolutions', k.resolutions,
  'leastAmount', k.least_amount::text, 'currency', k.currency, 'windowClosed', k.window_closed,
  'expiresSeconds', k.expires_seconds, 'enabled', k.enabled))::text, 'UTF8')
from kept as k
on conflict (operation_id) where operation_id is not null do nothing
