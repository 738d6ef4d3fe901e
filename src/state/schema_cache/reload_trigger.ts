/** The event triggers that request a reload of the schema cache after DDL. @module */
import { compile, join, literal, type Sql, sql } from "../../base/sql/fragment.ts";

/**
 * Returns SQL that creates the event triggers. They notify `channel`, the value of `db-channel`. Their
 * functions are in the schema `svc_private`, which must not be exposed. Applied again, the SQL changes
 * nothing. Only superusers may create event triggers.
 *
 * DDL of tables, views, functions, types, triggers, casts, rules and comments notifies once per
 * transaction. Temporary tables, indexes, sequences, GRANT, policies and REFRESH do not.
 */
export function reloadTriggerSql(channel: string): string {
  return compile(reloadTrigger(channel)).text.trimStart();
}

function reloadTrigger(channel: string): Sql {
  // A dollar sign becomes `chr(36)`, because it could end the text of the functions.
  const name = join(channel.split("$").map(literal), sql` || chr(36) || `);
  const notify = sql`perform pg_notify(${name}, 'reload schema')`;
  return sql`
create schema if not exists svc_private;
create or replace function svc_private.reload_on_ddl() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $svc$
begin
  if exists (
    select from pg_event_trigger_ddl_commands() c
    where c.schema_name is distinct from 'pg_temp' and c.command_tag ~
      '^(CREATE|ALTER) (SCHEMA|TABLE|FOREIGN TABLE|VIEW|MATERIALIZED VIEW|FUNCTION|PROCEDURE|AGGREGATE|TRIGGER|TYPE|DOMAIN|CAST|RULE)|^COMMENT|^SELECT INTO'
  ) then
    ${notify};
  end if;
end $svc$;
create or replace function svc_private.reload_on_drop() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $svc$
begin
  if exists (
    select from pg_event_trigger_dropped_objects() d
    where not d.is_temporary and d.object_type not in ('index', 'sequence', 'default value')
  ) then
    ${notify};
  end if;
end $svc$;
do $svc$
begin
  if not exists (select from pg_catalog.pg_event_trigger where evtname = 'svc_reload_on_ddl') then
    create event trigger svc_reload_on_ddl on ddl_command_end
      execute function svc_private.reload_on_ddl();
  end if;
  if not exists (select from pg_catalog.pg_event_trigger where evtname = 'svc_reload_on_drop') then
    create event trigger svc_reload_on_drop on sql_drop
      execute function svc_private.reload_on_drop();
  end if;
end $svc$;
`;
}

/** Returns whether an enabled event trigger notifies the channel. Parameter: {@linkcode notifyPattern}. */
export const reloadTriggerQuery = `
select exists (
  select from pg_catalog.pg_event_trigger t join pg_catalog.pg_proc p on p.oid = t.evtfoid
  where t.evtevent = 'ddl_command_end' and t.evtenabled in ('O', 'A') and p.prosrc ~* $1
)::text`;

/** Returns a regular expression of PostgreSQL for statements that notify the channel. */
export function notifyPattern(channel: string): string {
  const inString = escapeRegex(channel.replaceAll("'", "''"));
  const inName = escapeRegex(channel.replaceAll('"', '""'));
  return `notify\\s*\\(\\s*'${inString}'|notify\\s+"?${inName}"?\\s*([,;]|$)`;
}

function escapeRegex(text: string): string {
  return text.replace(
    /[^\p{L}\p{N}_]/gu,
    (character) => character.charCodeAt(0) < 0x80 ? `\\${character}` : character,
  );
}
