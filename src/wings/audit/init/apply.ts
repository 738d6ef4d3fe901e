/** Applies the SQL file of `svc init`: two transactions, of which the server may refuse the second. @module */
import { withScriptConnection } from "../../../database/adapters/script.ts";
import { failureLines, type SqlSession } from "../../../database/connection/sql_session.ts";
import { svcDialect } from "../../../base/dialect.ts";
import { fail, print, printError } from "../../../base/observe/output.ts";
import { programCall } from "../../../base/lib/program_call.ts";
import { looksSecret } from "../diagnosis/queries/user_columns.ts";
import { configOfFile, type InitFiles } from "./init_files.ts";
import { triggerMark } from "./init_sql.ts";
import { superuserCall, whoApplies } from "./next_steps.ts";
import { rolesOf, sqlSummary } from "./sql_summary.ts";
import { confirm } from "./prompt.ts";
import { readText } from "../../../base/lib/files.ts";

/** Shows the SQL file, asks for confirmation, and applies it. */
export async function applyFile(
  files: InitFiles,
  { uri, isConfirmed }: { readonly uri: string; readonly isConfirmed: boolean },
): Promise<number> {
  const text = readText(files.sql);
  const { displayName } = svcDialect;
  return await withScriptConnection(uri, displayName, async (connection) => {
    const { database, user } = connection;
    const { results } = await connection.session.run(factsQuery);
    const [secrets = [], roles = []] = results.map(({ rows }) => rows.map(([each]) => each!));
    print(`\n${text}\n${sqlSummary(text, secrets)}\n`);
    if (roles.length > 0 && rolesOf(text).some((role) => !roles.includes(role))) {
      print(`${user} may not create roles: apply the SQL as ${whoApplies}.\n`);
    }
    const question = `Apply to database ${database} at ${connection.place} as ${user}?`;
    if (!isConfirmed && !confirm(question)) {
      print(
        `Nothing was applied. To apply ${files.sql} later, call ${programCall()} init --apply again.\n`,
      );
      return 1;
    }
    const result = await applySql(connection.session, { name: files.sql, text });
    if (result.kind === "failed") {
      printError(`${result.message}\nNothing was applied.`);
      if (isRefused(result.message)) {
        printError(`Apply the SQL as ${whoApplies}:\n  ${superuserCall(uri, files)}`);
      }
      return 1;
    }
    print(`Applied to database ${database} at ${connection.place} as ${user}.\n`);
    if (result.kind === "without trigger") {
      print(
        `The event triggers were refused: ${result.reason}. db-schema-watch = "auto" polls instead.\n`,
      );
    }
    return await checkLogin(files);
  });
}

/** Two queries: columns that look like secrets, and all roles if the user may not create roles. */
const factsQuery = `
select pg_catalog.format('%I.%I.%I', n.nspname, c.relname, a.attname) from pg_catalog.pg_attribute a
  join pg_catalog.pg_class c on c.oid = a.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where ${looksSecret("a")} order by n.nspname, c.relname, a.attnum;
select pg_catalog.quote_ident(r.rolname) from pg_catalog.pg_roles r
  join pg_catalog.pg_roles u on u.rolname = current_user and not (u.rolsuper or u.rolcreaterole)`;

/** Returns whether PostgreSQL refused a statement for lack of privileges of the user. */
function isRefused(message: string): boolean {
  return /: (?:permission denied|must be owner|must have admin option)/.test(message);
}

/** Logs in as the service will, so that `svc init` reports a refusal. */
async function checkLogin(files: InitFiles): Promise<number> {
  const config = configOfFile(files);
  if (config === null) return 0;
  try {
    await withScriptConnection(config.dbUri, svcDialect.displayName, () => Promise.resolve());
    return 0;
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    return fail(`the service cannot log in by ${files.conf}: ${reason}`);
  }
}

type ApplyResult =
  | { readonly kind: "applied" }
  /** Roles and privileges are applied; the event triggers are not. */
  | { readonly kind: "without trigger"; readonly reason: string }
  /** Nothing is applied. The message begins with the file name and the line. */
  | { readonly kind: "failed"; readonly message: string };

async function applySql(
  session: SqlSession,
  file: { readonly name: string; readonly text: string },
): Promise<ApplyResult> {
  const mark = file.text.lastIndexOf(triggerMark);
  const [main, trigger] = mark === -1
    ? [file.text, ""]
    : [file.text.slice(0, mark), file.text.slice(mark)];
  const result = await session.run(main);
  if (result.failure !== null) {
    return { kind: "failed", message: failureLines(result, { ...file, text: main }).join("\n") };
  }
  const refusal = trigger === "" ? null : (await session.run(trigger)).failure;
  return refusal === null
    ? { kind: "applied" }
    : { kind: "without trigger", reason: refusal.message };
}
