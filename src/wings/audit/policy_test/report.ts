/** Reports of policy tests: lines, JUnit, and cells of the access matrix that no case tests. @module */
import { readAccess } from "../access/cells.ts";
import { openGuardOf } from "../../../api/handler/handler.ts";
import { callText, type CallWords } from "../../../base/observe/call_words.ts";
import { groupBy } from "../../../base/lib/group_by.ts";
import { printable } from "../../../base/lib/printable.ts";
import { shellWord } from "../../../base/lib/shell_word.ts";
import { type RunSetup, withCaseState } from "./case_handler.ts";
import type { CaseResult } from "./case_file.ts";

/** Returns a line for each failed case, with a call of `svc why`. */
export function failureText(results: readonly CaseResult[], call: CallWords): string {
  return failuresOf(results).map((result) => {
    const place = `${result.file}:${result.case.line}`;
    const why = callText(call, `why ${shellWord(place)}`);
    const text = `FAIL ${place} ${nameOf(result)}: ${result.difference}   (${why})`;
    return `${printable(text)}\n`;
  }).join("");
}

function failuresOf(results: readonly CaseResult[]): readonly CaseResult[] {
  return results.filter(({ difference }) => difference !== null);
}

function nameOf({ case: { name, method, target } }: CaseResult): string {
  return `${name} ${method} ${target}`;
}

/** Returns the summary: `1 of 5 cases failed (38 ms)`. */
export function summaryText(results: readonly CaseResult[], ms: number): string {
  const failed = failuresOf(results).length;
  const cases = `${results.length} ${results.length === 1 ? "case" : "cases"}`;
  return `${failed === 0 ? `${cases} passed` : `${failed} of ${cases} failed`} (${ms} ms)`;
}

/** Actions by method. PUT is reported as an update. */
const actions = { GET: "select", POST: "insert", PATCH: "update", PUT: "update", DELETE: "delete" };

/** Returns `; no case for 2 cells of the matrix: web_user delete api.doc, …`. The matrix has the
 * roles of `svc check` and of the cases. A case covers relations of the same name in all schemas. */
export async function gapsText(
  results: readonly CaseResult[],
  setup: RunSetup,
  operations: ReadonlySet<string>,
): Promise<string> {
  const covered = new Set(results.map(({ case: { method, target }, role }) => {
    const name = target.split(/[/?]/)[1]!.replace(/%[0-7][0-9a-f]/gi, decodeURIComponent);
    return `${role} ${actions[method as "GET"]} ${name}`;
  }));
  let permitted: readonly string[] = [];
  const cells = await withCaseState(
    setup,
    { name: "", text: "" },
    async ({ appState, database }) => {
      const { config } = appState.snapshot;
      permitted = (openGuardOf(setup.wings)(appState.snapshot)?.operations?.() ?? []).flatMap(
        ({ name, roles }) => roles.map((role) => `${name} ${role}`),
      );
      const matrix = await readAccess(database, { config });
      const callers = new Set(results.flatMap(({ role }) => role ?? []));
      for (const [role] of matrix.roles) callers.delete(role);
      const others = Array.from(callers, (role) => readAccess(database, { config, role }));
      return [matrix, ...await Promise.all(others)].flatMap((each) => each.cells);
    },
  );
  const missing = cells.filter(({ may }) => may === "rows" || may === "none")
    .map(({ role, action, relation }) => `${role} ${action} ${relation}`.replaceAll('"', ""))
    .filter((cell) => !covered.has(cell.replace(/ [^ .]*\.(?=\S*$)/, " "))).toSorted();
  const others = permitted.filter((each) => !operations.has(each));
  return gap(missing, "cell", "s of the matrix") + gap(others, "operation", "s");
}

function gap(missing: readonly string[], noun: string, plural: string): string {
  if (missing.length === 0) return "";
  const end = missing.length === 1 ? plural.replace(/^s/, "") : plural;
  return printable(`; no case for ${missing.length} ${noun}${end}: ${missing.join(", ")}`);
}

/** Returns a JUnit document: a suite for each file, a test case for each line. */
export function junitText(results: readonly CaseResult[]): string {
  const suites = Array.from(groupBy(results, ({ file }) => file), ([file, list]) => [
    `<testsuite name="${xml(file)}" tests="${list.length}" failures="${failuresOf(list).length}">`,
    ...list.map((result) => {
      const { case: { line }, difference } = result;
      const test = `name="${xml(`${line} ${nameOf(result)}`)}" file="${xml(file)}" line="${line}"`;
      const failure = difference && `<failure message="${xml(difference)}"/>`;
      return `<testcase ${test}>${failure ?? ""}</testcase>`;
    }),
    "</testsuite>",
  ]);
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  return `${head}${suites.flat().join("\n")}\n</testsuites>\n`;
}

/** Escapes a text for an attribute. XML 1.0, section 2.2, does not allow control characters. */
function xml(text: string): string {
  return printable(text).replace(/[&<>"\uFFFE\uFFFF]/g, (each) => `&#${each.charCodeAt(0)};`);
}
