-- Purpose: the scratch schemas of one run.
-- Parameters: the run's name. Returns one row a schema.
-- Indexes: none; catalogs.
select nspname::text as name from pg_namespace where starts_with(nspname::text, $1 || '_') order by 1
