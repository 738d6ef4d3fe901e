/** Reports of policy tests: lines, JUnit, and answers for cases without any. @module */
import type { AccessCell } from "../access/cells.ts";
import { printable } from "../lib/printable.ts";
import { type CaseAnswer, rowsText } from "./expectation.ts";
import type { CaseResult, FileResult } from "./run_file.ts";

/** Returns a line for each case that failed. `why` is the call of `svc why` without its operand. */
export function failureText(files: readonly FileResult[], why: string): string {
  return files.flatMap((file) =>
    failuresOf(file).map(({ case: each, difference }) => {
      const place = `${file.name}:${each.line}`;
      return `FAIL ${place} ${caseText(each)}: ${printable(difference!)}   (${why} ${place})\n`;
    })
  ).join("");
}

/** Returns the cases that failed. */
export function failuresOf({ results }: FileResult): readonly CaseResult[] {
  return results.filter(({ difference }) => difference !== null);
}

function caseText({ caller, method, target }: CaseResult["case"]): string {
  return `${caller} ${method} ${target}`;
}

/** Returns the summary: `1 of 5 cases failed (38 ms)`. */
export function summaryText(files: readonly FileResult[], ms: number): string {
  const count = files.reduce((sum, { results }) => sum + results.length, 0);
  const failed = files.flatMap(failuresOf).length;
  const cases = `${count} ${count === 1 ? "case" : "cases"}`;
  return `${failed === 0 ? `${cases} passed` : `${failed} of ${cases} failed`} (${ms} ms)`;
}

const actions: ReadonlyMap<string, readonly string[]> = new Map([
  ["GET", ["select"]],
  ["POST", ["insert"]],
  ["PATCH", ["update"]],
  ["PUT", ["insert", "update"]],
  ["DELETE", ["delete"]],
]);

/** Returns `; no case for 2 cells of the matrix: web_user delete api.doc, …` for cells that policies decide. */
export function uncoveredText(
  cells: readonly AccessCell[],
  files: readonly FileResult[],
  schema: string,
): string {
  const covered = new Set(
    files.flatMap(({ results }) => results).flatMap((result) => {
      const { case: { method, target, headers }, role } = result;
      const profile = headers.find(([name]) => /^(?:accept|content)-profile$/i.test(name))?.[1];
      const [, name = ""] = /^\/([^/?]*)/.exec(target) ?? [];
      return (actions.get(method) ?? []).map((action) =>
        `${role} ${action} ${profile ?? schema}.${decodeURIComponent(name)}`
      );
    }),
  );
  const missing = cells.filter(({ may }) => may === "rows" || may === "none")
    .map(({ role, action, relation }) => `${role} ${action} ${relation}`.replaceAll('"', ""))
    .filter((cell) => !covered.has(cell)).toSorted();
  if (missing.length === 0) return "";
  const noun = missing.length === 1 ? "cell" : "cells";
  return `; no case for ${missing.length} ${noun} of the matrix: ${missing.join(", ")}`;
}

/** Returns the document of JUnit: a suite for each file, a test case for each line. */
export function junitText(files: readonly FileResult[]): string {
  const suites = files.flatMap((file) => {
    const counts = `tests="${file.results.length}" failures="${failuresOf(file).length}"`;
    const cases = file.results.map(({ case: each, difference }) => {
      const place = `file="${xml(file.name)}" line="${each.line}"`;
      const head = `<testcase name="${xml(`${each.line} ${caseText(each)}`)}" ${place}`;
      const failure = `<failure message="${xml(difference ?? "")}"/>`;
      return difference === null ? `${head}/>` : `${head}>${failure}</testcase>`;
    });
    return [`<testsuite name="${xml(file.name)}" ${counts}>`, ...cases, "</testsuite>"];
  });
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", ...suites];
  return `${[...lines, "</testsuites>"].join("\n")}\n`;
}

/** Escapes a text for an attribute. XML 1.0, section 2.2, has no control characters. */
function xml(text: string): string {
  return printable(text).replace(/[&<>"\uFFFE\uFFFF]/g, (each) => `&#${each.charCodeAt(0)};`);
}

/** Returns an answer as an expectation: `200 [{"id":1}]`, `204 no rows`, `403 42501`. */
export function answerText({ status, code, rows, json }: CaseAnswer): string {
  if (code !== null) return `${status} ${code}`;
  const body = json === undefined || status >= 400 ? "" : JSON.stringify(json);
  // Longer answers have the number of rows alone.
  if (body.length <= 500 && /^[[{"]/.test(body)) return `${status} ${body}`;
  return rows === null ? String(status) : `${status} ${rowsText(rows)}`;
}

/** Returns the text of a file with the answers of its cases without any. */
export function withAnswers(text: string, { results }: FileResult): string {
  const lines = text.split("\n");
  for (const { case: { expectation, line }, answer } of results) {
    if (expectation !== null) continue;
    lines[line - 1] = lines[line - 1]!.replace(/[ \t]*(\r?)$/, () => ` => ${answerText(answer)}`) +
      (lines[line - 1]!.endsWith("\r") ? "\r" : "");
  }
  return lines.join("\n");
}
