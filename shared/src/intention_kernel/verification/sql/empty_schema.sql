-- Purpose: drop everything of the current schema, which was empty before a run used it.
-- Parameters: none. Returns nothing.
-- Indexes: none; catalogs.
do $$
declare
    doomed record;
begin
    for doomed in select c.oid::regclass::text as name from pg_class as c
                  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') loop
        execute format('drop table if exists %s cascade', doomed.name);
    end loop;
    for doomed in select p.oid::regprocedure::text as name from pg_proc as p
                  where p.pronamespace = current_schema()::regnamespace loop
        execute format('drop function if exists %s cascade', doomed.name);
    end loop;
end
$$
