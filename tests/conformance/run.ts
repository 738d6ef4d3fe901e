/**
 * Runs the conformance table against a server, and prints what passed by area. Exits with 1 if a case
 * fails that the server's list of differences lacks, or if a case of the list passes.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { checkCase, type Send } from "./check_case.ts";
import { type Case, readDifferences, readTable } from "./table.ts";

const usage = `usage: deno task conformance --url <url> [options]

  --url <url>       where a server serves the database of database.sql
  --prefix <text>   prefix of its error codes; default: PGRST
  --server <name>   expect the differences in differences/<name>.txt
  --only <text>     run the cases whose request contains the text
  --details         print each difference`;

/** What became of a case: the differences from its answer. */
export interface Result {
  readonly case: Case;
  readonly found: readonly string[];
}

/** Runs cases one after the other. */
export async function runTable(send: Send, cases: readonly Case[], url: string): Promise<Result[]> {
  const results: Result[] = [];
  for (const one of cases) {
    results.push({ case: one, found: await checkCase(send, one, url).catch((e) => [String(e)]) });
  }
  return results;
}

/** Returns what a list of differences lacks, and what it has too much. */
export async function unexplained(results: readonly Result[], server: string): Promise<string[]> {
  const listed = (await readDifferences(server)).flatMap(({ labels }) => labels);
  const failed = new Map(
    results.filter(({ found }) => found.length > 0).map((result) => [result.case.label, result]),
  );
  return [
    ...[...failed].filter(([label]) => !listed.includes(label))
      .map(([label, { found }]) => `not listed: ${label}\n  ${found.join("\n  ")}`),
    ...listed.filter((label) => !failed.has(label)).map((label) => `passes, or is gone: ${label}`),
  ];
}

function printAreas(results: readonly Result[]): void {
  const areas = Object.entries(Object.groupBy(results, (result) => result.case.area));
  console.log(`${"area".padEnd(28)} passed failed`);
  for (const [area, some = []] of [...areas, ["all", results] as const]) {
    const failed = some.filter(({ found }) => found.length > 0).length;
    const counts = [some.length - failed, failed].map((count) => String(count).padStart(7));
    console.log(area.padEnd(28) + counts.join(""));
  }
}

async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: "string" },
      prefix: { type: "string", default: "PGRST" },
      server: { type: "string" },
      only: { type: "string", default: "" },
      details: { type: "boolean", default: false },
    },
  });
  if (values.url === undefined) throw new Error(usage);
  const cases = (await readTable(values.prefix)).filter(({ label }) => label.includes(values.only));
  const send = (request: Request) => fetch(request, { redirect: "manual" });
  const results = await runTable(send, cases, values.url.replace(/\/$/, ""));
  const failed = results.filter(({ found }) => found.length > 0);
  for (const { case: { area, label }, found } of values.details ? failed : []) {
    console.log(`${area}: ${label}\n  ${found.join("\n  ")}\n`);
  }
  printAreas(results);
  if (values.server === undefined) return failed.length === 0 ? 0 : 1;
  const problems = await unexplained(results, values.server);
  console.log(["", ...problems].join("\n"));
  return problems.length === 0 ? 0 : 1;
}

if (import.meta.main) {
  Deno.exit(await run(Deno.args).catch((error) => (console.error(error.message), 2)));
}
