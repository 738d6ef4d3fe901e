/** Checks the role of a token in the database. @module */
import { nearest } from "../../base/lib/nearest.ts";
import { compile, param, type Sql, sql } from "../../base/sql/fragment.ts";
import { metadataTransaction } from "../../database/transaction.ts";
import { withServer } from "../../database/with_server.ts";

/** Seconds after which the check of an unreachable database is skipped. */
const connectTimeout = 2;

/** Resolves with the reason why requests with the role will fail, or null. Rejects if the database
 * is unreachable. */
export async function roleProblem(uri: string, role: string): Promise<string | null> {
  const statement = { ...compile(roleQuery(role)), use: "rows" } as const;
  const transaction = metadataTransaction([statement], "rollback");
  const { rows } = await withServer(uri, (database) => database.transaction(transaction), {
    connectTimeout,
  });
  const [problem, user, others, grant] = rows.at(-1)?.[0] ?? [];
  if (problem === "superuser") return `requests must not run as ${role}, a superuser`;
  if (problem === "refused") return `${user} may not become ${role}: ${grant}`;
  if (problem !== "missing") return null;
  const near = nearest(role, JSON.parse(others!));
  const hint = near === null ? "" : `; did you mean ${near}?`;
  return `the role ${JSON.stringify(role)} does not exist${hint}`;
}

function roleQuery(role: string): Sql {
  return sql`
select case when r.oid is null then 'missing'
    when r.rolsuper then 'superuser'
    when pg_catalog.pg_has_role(session_user, r.oid, case
      when pg_catalog.current_setting('server_version_num')::int >= 160000 then 'SET'
      else 'MEMBER' end) then 'usable'
    else 'refused' end,
  session_user::pg_catalog.text, (
    select pg_catalog.json_agg(o.rolname)::pg_catalog.text from pg_catalog.pg_roles o where o.rolname !~ '^pg_'
  ), pg_catalog.format('grant %I to %I;', v.name, session_user)
from (values (${param(role)}::pg_catalog.text)) v (name)
  left join pg_catalog.pg_roles r on r.rolname = v.name`;
}
