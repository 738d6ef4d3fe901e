/** Makes plain PostgreSQL look as with Citus: its catalogue and its setting exist. Statements then have the
 * forms for Citus, whose answers are the same here. @module */

/** Set for a run of all tests on PostgreSQL with the statements for Citus. */
const citusVariable = "SVC_TEST_CITUS";

/** Whether all databases on PostgreSQL look as with Citus. */
export function isCitusFaked(): boolean {
  return (Deno.env.get(citusVariable) ?? "") !== "";
}

/** SQL of a superuser. No table is in the catalogue, and no node. A node refuses the role of its name. */
export const citusFake = `
set allow_system_table_mods = on;
create table if not exists pg_catalog.pg_dist_partition (
  logicalrelid regclass primary key, partmethod "char" not null, partkey text,
  colocationid int not null default 0, repmodel "char" not null default 's'
);
create table if not exists pg_catalog.pg_dist_node (
  nodename text not null, nodeport int not null default 5432, groupid int not null,
  isactive bool not null default true, noderole text not null default 'primary'
);
grant select on pg_catalog.pg_dist_partition, pg_catalog.pg_dist_node to public;
create or replace function pg_catalog.citus_check_connection_to_node(text, int) returns bool
  language sql strict as 'select $1 <> current_user';
reset allow_system_table_mods;
do $do$ begin
  execute format('alter database %I set citus.propagate_set_commands = ''none''', current_database());
end $do$;
`;
