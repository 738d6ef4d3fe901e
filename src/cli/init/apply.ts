/** Applies the SQL file of `svc init`: two transactions, the second of which may be refused.
 * @module */
import type {
  SqlSession,
  StatementFailure,
  TextResult,
} from "../../database/connection/sql_session.ts";
import { failurePlace } from "../../sql/statements.ts";
import { triggerMark } from "./init_sql.ts";

/** How the SQL ended. */
export type ApplyResult =
  | { readonly kind: "applied" }
  /** Roles and privileges are applied, the event triggers are not. */
  | { readonly kind: "without trigger"; readonly reason: string }
  /** Nothing is applied. The message begins with the file's name and the line. */
  | { readonly kind: "failed"; readonly message: string };

/** Runs the text of a file. */
export async function applySql(
  session: SqlSession,
  file: { readonly name: string; readonly text: string },
): Promise<ApplyResult> {
  const mark = file.text.lastIndexOf(triggerMark);
  const [main, trigger] = mark === -1
    ? [file.text, ""]
    : [file.text.slice(0, mark), file.text.slice(mark)];
  const result = await session.run(main);
  if (result.failure !== null) {
    return { kind: "failed", message: failureText(result, result.failure, file.name, main) };
  }
  const refusal = trigger === "" ? null : (await session.run(trigger)).failure;
  return refusal === null
    ? { kind: "applied" }
    : { kind: "without trigger", reason: refusal.message };
}

function failureText(
  { results }: TextResult,
  failure: StatementFailure,
  name: string,
  text: string,
): string {
  const place = failurePlace(text, { position: failure.position, completed: results.length });
  const lines = [
    `${name}:${place}: ${failure.message}`,
    ...(failure.detail === null ? [] : [`  ${failure.detail}`]),
    ...(failure.hint === null ? [] : [`  ${failure.hint}`]),
  ];
  return lines.join("\n");
}
