/** Names the schemas that `db-schemas` can have, where one of them does not exist. @module */
import { metadataBatch } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { DatabaseError } from "../errors/service_error.ts";

/** Whether a load failed because a schema does not exist (3F000, `invalid_schema_name`). */
export function isMissingSchema(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.failure.sqlstate === "3F000";
}

/** Returns the first ten schemas that have tables or views, without those of the system. */
export async function readFilledSchemas(database: Database): Promise<readonly string[]> {
  const statement = { text: filledQuery, params: [], use: "rows" } as const;
  const { rows } = await database.transaction(metadataBatch([statement]));
  return rows.at(-1)?.map(([name]) => name ?? "") ?? [];
}

const filledQuery = `
select distinct n.nspname::text from pg_catalog.pg_namespace n
  join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc_private')
order by 1 limit 10`;
