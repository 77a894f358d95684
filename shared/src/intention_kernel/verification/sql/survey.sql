-- Purpose: what a connection may do here, and what is here already.
-- Parameters: none. Returns one row.
-- Indexes: none; catalogs, once a run.
select current_database() as database, current_user as role, coalesce(current_schema(), '') as schema,
       has_database_privilege(current_database(), 'create') as may_create,
       array(select format('%I.%I', n.nspname, c.relname)
             from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
             where c.relkind in ('r', 'p', 'm', 'f') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
               and n.nspname not like 'intention\_verify\_%' order by 1) as tables,
       array(select n.nspname::text from pg_namespace as n where n.nspname like 'intention\_verify\_%' order by 1) as scratch,
       coalesce(obj_description(to_regclass('alembic_version'), 'pg_class'), '') as mark,
       array(select distinct a.application_name from pg_stat_activity as a
             where a.application_name like 'intention\_verify\_%') as alive
