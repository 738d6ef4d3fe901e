/** Reports of policy tests: lines, JUnit, and answers for cases without any. @module */
import type { AccessCell } from "../access/cells.ts";
import { printable } from "../lib/printable.ts";
import { type CaseAnswer, rowsText } from "./expectation.ts";
import type { CaseResult, FileResult } from "./run_file.ts";

/** Returns a line for each case that failed. `why` is the call of `svc why` without its operand. */
export function failureText(files: readonly FileResult[], why: string): string {
  return files.flatMap((file) =>
    failuresOf([file]).map((result) => {
      const place = `${file.name}:${result.case.line}`;
      return `FAIL ${place} ${caseText(result)}: ${
        printable(result.difference!)
      }   (${why} ${place})\n`;
    })
  ).join("");
}

/** Returns the cases that failed. */
export function failuresOf(files: readonly FileResult[]): readonly CaseResult[] {
  return files.flatMap(({ results }) => results).filter(({ difference }) => difference !== null);
}

function caseText({ case: { caller, method, target } }: CaseResult): string {
  return `${caller} ${method} ${target}`;
}

/** Returns the summary: `1 of 5 cases failed (38 ms)`. */
export function summaryText(files: readonly FileResult[], ms: number): string {
  const count = files.reduce((sum, { results }) => sum + results.length, 0);
  const failed = failuresOf(files).length;
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
  const suites = files.map((file) => {
    const { name, results } = file;
    const failures = failuresOf([file]).length;
    const cases = results.map((result) => testcase(name, result)).join("");
    return `  <testsuite name="${xml(name)}" tests="${results.length}" failures="${failures}">\n` +
      `${cases}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("")}</testsuites>\n`;
}

function testcase(file: string, result: CaseResult): string {
  const { case: { line }, difference } = result;
  const name = xml(`${line} ${caseText(result)}`);
  const head = `    <testcase classname="${xml(file)}" name="${name}" file="${
    xml(file)
  }" line="${line}"`;
  return difference === null
    ? `${head}/>\n`
    : `${head}>\n      <failure message="${xml(difference)}"/>\n    </testcase>\n`;
}

/** Escapes a text for an attribute (XML 1.0, section 2.2). */
function xml(text: string): string {
  return printable(text).replace(/[&<>"]|[\uFFFE\uFFFF]/g, (each) => entities.get(each) ?? "?");
}

const entities: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
]);

/** Most characters of JSON that an answer is written with; longer ones have the number of rows alone. */
const maxAnswerLength = 500;

/** Returns an answer as an expectation: `200 [{"id":1}]`, `204 no rows`, `403 42501`. */
export function answerText({ status, code, rows, json }: CaseAnswer): string {
  if (code !== null) return `${status} ${code}`;
  const body = json === undefined || status >= 400 ? "" : JSON.stringify(json);
  const isShort = body !== "" && body.length <= maxAnswerLength;
  if (isShort && /^[[{"]/.test(body)) return `${status} ${body}`;
  return rows === null ? String(status) : `${status} ${rowsText(rows)}`;
}

/** Returns the text of a file with the answers of its cases without any. */
export function withAnswers(text: string, results: readonly CaseResult[]): string {
  const answers = new Map(
    results.filter(({ case: { expectation } }) => expectation === null)
      .map((result) => [result.case.line, answerText(result.answer)]),
  );
  return text.split("\n").map((line, index) => {
    const answer = answers.get(index + 1);
    if (answer === undefined) return line;
    const [end = ""] = /\s*$/.exec(line) ?? [];
    return `${line.slice(0, line.length - end.length)} => ${answer}${
      end.endsWith("\r") ? "\r" : ""
    }`;
  }).join("\n");
}
