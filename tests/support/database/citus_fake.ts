/** Makes plain PostgreSQL look as with Citus: its catalogue and its setting exist. Statements then have the
 * forms for Citus, whose answers are the same here. @module */

/** Set for a run of all tests on PostgreSQL with the statements for Citus. */
const citusVariable = "SVC_TEST_CITUS";

/** Whether all databases on PostgreSQL look as with Citus. */
export function isCitusFaked(): boolean {
  return (Deno.env.get(citusVariable) ?? "") !== "";
}

/** SQL of a superuser. No table is in the catalogue. */
export const citusFake = `
set allow_system_table_mods = on;
create table if not exists pg_catalog.pg_dist_partition (
  logicalrelid regclass primary key, partmethod "char" not null, partkey text,
  colocationid int not null default 0, repmodel "char" not null default 's'
);
grant select on pg_catalog.pg_dist_partition to public;
reset allow_system_table_mods;
do $do$ begin
  execute format('alter database %I set citus.propagate_set_commands = ''none''', current_database());
end $do$;
`;
