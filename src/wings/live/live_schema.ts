/** The SQL of live queries: the schema `svc_live`, and triggers that record changes of tables
 * there. The SQL can be applied repeatedly. @module */
import { compile, ident, join, type Sql, sql, tableSql } from "../../base/sql/fragment.ts";
import type { RecordedTable } from "../../api/command.ts";

/** Returns the SQL file. `login` is the role that polls. */
export function liveSql(login: string, tables: readonly RecordedTable[]): string {
  const scopes = new Set(tables.flatMap(({ scope }) => scope ?? []));
  const rights = sql`revoke execute on all functions in schema svc_live from public;
grant usage on schema svc_live to ${ident(login)};
grant execute on function svc_live.changes(pg_snapshot), svc_live.renew(pg_snapshot) to ${
    ident(login)
  };
`;
  const parts = [schemaSql, ...Array.from(scopes, scopeFunction), rights, ...tables.map(triggers)];
  const { text } = compile(join(parts, sql``));
  return `-- svc_live records which tables change, while a service polls.\nbegin read write;\n${text}commit;\n`;
}

/** Returns the SQL that records the changes of one table, without a scope. */
export function recordSql(schema: string, name: string): string {
  return compile(trigger(ident(schema, name), allEvents)).text.trim();
}

/**
 * The objects that all recorded tables share. `reader_until` is a sequence, because a trigger sees
 * a new value of a sequence before the transaction ends. The functions run with the rights of
 * their owner, so their search path has no schema of a caller. A crash of PostgreSQL empties
 * unlogged tables. This changes the epoch, which the record of relation 0 contains.
 */
const schemaSql = sql`create schema if not exists svc_live;
do $$ begin
  if (select r.rolname <> current_user from pg_namespace n join pg_roles r on r.oid = n.nspowner
    where n.nspname = 'svc_live') then raise exception 'svc_live has another owner'; end if;
end $$;
create sequence if not exists svc_live.reader_until;
create unlogged table if not exists svc_live.change (
  xid xid8 not null default pg_current_xact_id(), relation oid not null, scope text collate "C");
create unlogged table if not exists svc_live.epoch (xid xid8 primary key);
create or replace function svc_live.changed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin
  if (select last_value from svc_live.reader_until) >= extract(epoch from clock_timestamp()) then
    insert into svc_live.change (relation) values (tg_relid);
  end if; return null; end $$;
create or replace function svc_live.changes(since pg_snapshot) returns table (relation oid, scope text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select distinct c.relation, c.scope from svc_live.change c where not pg_visible_in_snapshot(c.xid, since)
  union all select 0, (select e.xid::text from svc_live.epoch e order by e.xid limit 1) $$;
create or replace function svc_live.renew(seen pg_snapshot) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from svc_live.change c where pg_visible_in_snapshot(c.xid, seen);
  insert into svc_live.epoch select pg_current_xact_id() where not exists (select from svc_live.epoch);
  select setval('svc_live.reader_until', greatest(last_value, extract(epoch from clock_timestamp())::bigint + 20))
  from svc_live.reader_until $$;
`;

/**
 * Returns the function for a scope column. All tables with a column of this name share the function,
 * and a table may have lost the column. concat() calls only the output function of a type, which is
 * written in C. A cast could run a function of the table's owner with the rights of this function's owner.
 */
function scopeFunction(column: string): Sql {
  const record = (rows: Sql) =>
    sql`select tg_relid, concat(r.${ident(column)}) collate "C" from ${rows} r`;
  const [before, after] = [record(sql`old_rows`), record(sql`new_rows`)];
  return sql`create or replace function svc_live.${ident(`scope_${column}`)}() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
begin
  if (select last_value from svc_live.reader_until) < extract(epoch from clock_timestamp()) then return null;
  elsif tg_argv[0] not in (select attname from pg_attribute where attrelid = tg_relid)
  then insert into svc_live.change (relation) values (tg_relid);
  elsif tg_op = 'INSERT' then insert into svc_live.change (relation, scope) ${after} group by 2;
  elsif tg_op = 'DELETE' then insert into svc_live.change (relation, scope) ${before} group by 2;
  else insert into svc_live.change (relation, scope) ${before} union ${after};
  end if; return null; end $$;
`;
}

/** Returns the triggers of a table. A trigger with transition tables can have only one event. */
function triggers({ schema, name, scope }: RecordedTable): Sql {
  const table = ident(schema, name);
  const each = Object.entries(transitions).map(([event, rows]) => {
    const suffix = tableSql(`_${event}`);
    if (scope === null) return sql`drop trigger if exists svc_live${suffix} on ${table};\n`;
    const call = sql`${ident(`scope_${scope}`)}(${ident(scope)})`;
    return trigger(table, tableSql(event), { suffix, rows, call });
  });
  return join([trigger(table, scope === null ? allEvents : sql`truncate`), ...each], sql``);
}

const allEvents = sql`insert or update or delete or truncate`;
const transitions = {
  insert: sql` referencing new table as new_rows`,
  update: sql` referencing old table as old_rows new table as new_rows`,
  delete: sql` referencing old table as old_rows`,
};

function trigger(
  table: Sql,
  event: Sql,
  { suffix, rows, call } = { suffix: sql``, rows: sql``, call: sql`changed()` },
): Sql {
  return sql`create or replace trigger svc_live${suffix} after ${event} on ${table}${rows}
  for each statement execute function svc_live.${call};
alter table ${table} enable always trigger svc_live${suffix};
`;
}
