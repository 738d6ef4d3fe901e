/** `svc init --live`: prints the SQL that records changes of tables. @module */
import { metadataBatch } from "../../database/batch.ts";
import { liveSql, type RecordedTable } from "../../live/live_schema.ts";
import { quoteIdent } from "../../sql/fragment.ts";
import type { CommandCall } from "../command.ts";
import { print } from "../output.ts";
import { withDatabase } from "../with_service.ts";

/** Prints the SQL for the tables of the flag. Resolves with the exit code; rejects for a wrong table. */
export async function printLiveSql({ config, flags }: CommandCall): Promise<number> {
  return await withDatabase(config, async (service) => {
    const path = (await service.readConfig()).dbSchemas.map(quoteIdent).join(", ");
    const items = Array.from(
      flags.get("--live")!.matchAll(listItem),
      ([, table, column]) => [table!.trim(), column],
    );
    const { rows } = await service.database.transaction(metadataBatch([
      { text: "select set_config('search_path', $1, true)", params: [path], use: "none" },
      { text: tablesQuery, params: [JSON.stringify(items)], use: "rows" },
    ], "rollback"));
    const tables: readonly ListedTable[] = JSON.parse(rows.at(-1)![0]![0]!);
    for (const { item, problem } of tables) {
      if (problem !== null) throw new Error(`--live: ${item} ${problem}`);
    }
    print(liveSql(flags.get("--login-role") ?? tables[0]!.login, tables));
    return 0;
  });
}

/** A table and perhaps a column, with commas and colons in quotes alone. */
const listItem = /((?:"(?:[^"]|"")*"|[^,":])+)(?::((?:"(?:[^"]|"")*"|[^,"])+))?/g;

interface ListedTable extends RecordedTable {
  readonly login: string;
  readonly item: string;
  /** Why the SQL would fail, or its triggers would; null if they do not. */
  readonly problem: string | null;
}

/** Parameter: JSON arrays of a table and a column, as SQL writes them. Partitions follow their parents. */
const tablesQuery = `with recursive items (place, item, name, oid) as (
  select place, item->>0, (parse_ident(item->>1))[1], to_regclass(item->>0)::oid
  from json_array_elements($1) with ordinality i (item, place)
  union select t.place, t.item, t.name, h.inhrelid from items t join pg_inherits h on h.inhparent = t.oid
)
select json_agg(json_build_object('login', session_user, 'item', i.item, 'schema', n.nspname, 'name', c.relname,
  'scope', i.name, 'problem', case when c.oid is null then 'does not exist'
    when c.relkind not in ('r', 'p') then 'is not a table: name the tables below it'
    when i.name is not null and a.attname is null then 'has no column ' || i.name
    when octet_length(i.name) > 57 or i.name ~ '[$]' then i.name || ': too long, or with a dollar sign'
  end) order by i.place, c.oid)::text
from items i left join pg_class c on c.oid = i.oid left join pg_namespace n on n.oid = c.relnamespace
  left join pg_attribute a on a.attrelid = c.oid and a.attname = i.name and a.attnum > 0 and not a.attisdropped`;
