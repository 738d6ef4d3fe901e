/** Reads what the schemas of a database contain, to choose the schema of an API. @module */
import { isNotOfExtension } from "./extensions.ts";

/**
 * Common table expression `contents`: the user-defined schemas with `SchemaSize`, and with the number of
 * relations that the role of the connection owns.
 */
export const schemaContents = `
contained_relations as (
  select c.relnamespace as schema, pg_has_role(c.relowner, 'usage') as owned from pg_class c
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and ${isNotOfExtension("pg_class", "c")}
),
contained_functions as (
  select p.pronamespace as schema from pg_proc p
  where p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    and ${isNotOfExtension("pg_proc", "p")}
),
contents as (
  select n.oid, n.nspname::text as name,
    (select count(*) from contained_relations r where r.schema = n.oid) as relations,
    (select count(*) from contained_functions f where f.schema = n.oid) as functions,
    (select count(*) from contained_relations r where r.schema = n.oid and r.owned) as owned
  from pg_namespace n
  where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc_private')
)`;
