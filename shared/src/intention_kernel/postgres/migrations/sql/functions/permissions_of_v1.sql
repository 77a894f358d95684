-- Purpose: what these roles allow together (design 7).
-- Parameters: names of roles. Returns: permissions in order, each once. Index: the key of roles.
create function permissions_of_v1(of_roles text[]) returns text[] language sql stable as $$
  select coalesce(array_agg(distinct allowed order by allowed), '{}')
  from roles as r, unnest(r.permissions) as allowed
  where r.name = any(of_roles)
$$;
