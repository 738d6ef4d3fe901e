/** Applies the SQL file of `svc init`: two transactions, the second of which may be refused.
 * @module */
import type { ScriptConnection, ScriptFailure } from "../../database/adapters/script.ts";
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
  connection: ScriptConnection,
  file: { readonly name: string; readonly text: string },
): Promise<ApplyResult> {
  const mark = file.text.lastIndexOf(triggerMark);
  const [main, trigger] = mark === -1
    ? [file.text, ""]
    : [file.text.slice(0, mark), file.text.slice(mark)];
  const failure = await connection.run(main);
  if (failure !== null) return { kind: "failed", message: failureText(failure, file.name, main) };
  const refusal = trigger === "" ? null : await connection.run(trigger);
  return refusal === null
    ? { kind: "applied" }
    : { kind: "without trigger", reason: refusal.message };
}

function failureText(failure: ScriptFailure, name: string, text: string): string {
  const lines = [
    `${name}:${failurePlace(text, failure)}: ${failure.message}`,
    ...(failure.detail === null ? [] : [`  ${failure.detail}`]),
    ...(failure.hint === null ? [] : [`  ${failure.hint}`]),
  ];
  return lines.join("\n");
}
