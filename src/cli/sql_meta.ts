/**
 * The commands of `svc sql` that begin with a backslash.
 *
 * @module
 */
import { compile, literal, type Sql, sql } from "../sql/fragment.ts";

/** A line that begins with a backslash. */
export type MetaCommand =
  | { readonly kind: "quit" }
  | { readonly kind: "query"; readonly text: string }
  | { readonly kind: "problem"; readonly message: string };

/** Parses `\d`, `\d NAME`, `\dt`, `\df` and `\q`. */
export function parseMetaCommand(line: string): MetaCommand {
  const [, word = "", name = ""] = /^\\(\S*)\s*(.*?)\s*;?\s*$/s.exec(line.trim()) ?? [];
  if (word === "q") return { kind: "quit" };
  if (word === "d" && name !== "") return query(columnsOf(name));
  const text = lists.get(word);
  if (text !== undefined && name === "") return query(text);
  return {
    kind: "problem",
    message: `unknown command \\${word}: expected \\d, \\d NAME, \\dt, \\df or \\q`,
  };
}

function query(fragment: Sql): MetaCommand {
  return { kind: "query", text: compile(fragment).text };
}

const isUserSchema = sql`n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`;

const relationType = sql`case c.relkind when 'r' then 'table' when 'p' then 'partitioned table'
  when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
  when 'S' then 'sequence' end`;

function relations(kinds: Sql): Sql {
  return sql`select n.nspname as schema, c.relname as name, ${relationType} as type,
  pg_catalog.pg_get_userbyid(c.relowner) as owner
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in (${kinds}) and ${isUserSchema}
order by 1, 2`;
}

const lists: ReadonlyMap<string, Sql> = new Map([
  ["d", relations(sql`'r', 'p', 'v', 'm', 'f', 'S'`)],
  ["dt", relations(sql`'r', 'p'`)],
  [
    "df",
    sql`select n.nspname as schema, p.proname as name,
  pg_catalog.pg_get_function_result(p.oid) as result,
  pg_catalog.pg_get_function_arguments(p.oid) as arguments
from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where ${isUserSchema}
order by 1, 2, 4`,
  ],
]);

function columnsOf(name: string): Sql {
  return sql`select a.attname as column, pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
  case when a.attnotnull then 'not null' end as nullable,
  pg_catalog.pg_get_expr(d.adbin, d.adrelid) as default
from pg_catalog.pg_attribute a
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = ${literal(name)}::pg_catalog.regclass and a.attnum > 0 and not a.attisdropped
order by a.attnum`;
}
