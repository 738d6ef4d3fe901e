/**
 * Measures the service, beside another server of the same interface if there is one. Run:
 * `deno task bench --help`.
 *
 * @module
 */
import { type Bench, progress, runSql, startBench } from "./bench.ts";
import { measureBatches } from "./batches.ts";
import { measureBodies } from "./bodies.ts";
import { casesOf, loadSets } from "./cases.ts";
import { items, makeUsers, plainFixture, roles, schema } from "./fixture.ts";
import { growths, type GrowthTable, growthText, prepareGrowth } from "./growth.ts";
import { measureGuards } from "./guards.ts";
import { largeTables, measureAnswers } from "./large_answers.ts";
import { largeCases } from "./large.ts";
import { contestLarge } from "./large_contest.ts";
import { contestLoads } from "./load_contest.ts";
import { type BenchOptions, isInSet, isWanted, parseOptions, usage } from "./options.ts";
import { measureOverload } from "./overload.ts";
import { measureReplicas } from "./replicas.ts";
import { isFlawless, resultJson, resultTables } from "./report.ts";
import { rlsFixture } from "./rls_fixture.ts";
import { measureSlowReaders } from "./slow_readers.ts";
import { measureWorkers } from "./workers.ts";
import { needWrk } from "./wrk.ts";
import { measureWrites } from "./writes.ts";

/** Gives the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) {
    console.log(usage);
    return 0;
  }
  if (options.listsCases) {
    console.log(await caseList(options));
    return 0;
  }
  await needWrk();
  await using bench = await startBench(options);
  if (options.set === "guards") {
    await runSql(bench, `${roles}${schema}${items}`);
    await runSql(bench, "vacuum analyze");
    console.log(await measureGuards(bench));
    return 0;
  }
  if (options.set === "writes") {
    await runSql(bench, `${roles}${schema}${items}`);
    console.log(await measureWrites(bench));
    return 0;
  }
  if (options.set === "replicas") {
    await runSql(bench, `${roles}${schema}${plainFixture}`);
    await runSql(bench, "vacuum analyze");
    console.log(await measureReplicas(bench));
    return 0;
  }
  if (options.bodies) {
    await runSql(bench, `${roles}${schema}${items}`);
    const needsAnswers = ["answers", "readers"].some((name) => isWanted(options, name));
    if (needsAnswers) await runSql(bench, largeTables);
    if (isWanted(options, "answers")) console.log(await measureAnswers(bench));
    if (isWanted(options, "readers")) console.log(await measureSlowReaders(bench));
    if (isWanted(options, "inserts")) console.log(await measureBodies(bench));
    return 0;
  }
  if (options.batches) {
    await runSql(bench, `${roles}${schema}`);
    console.log(await measureBatches(bench));
    return 0;
  }
  if (options.overload) {
    await runSql(bench, `${roles}${schema}`);
    console.log(await measureOverload(bench));
    return 0;
  }
  if (options.workers !== null) {
    await runSql(bench, `${roles}${schema}${items}`);
    await runSql(bench, "vacuum analyze");
    console.log(await measureWorkers(options.workers, bench));
    return 0;
  }
  return options.growth ? await measureGrowth(bench) : await measureCases(bench);
}

/** The names of the cases, with a line for each set. */
async function caseList(options: BenchOptions): Promise<string> {
  const users = await makeUsers();
  const sets = [
    ...loadSets.map((set) => [set, casesOf(set, users).map(({ name }) => name)] as const),
    ["large", largeCases.map(([name]) => name)] as const,
  ];
  return sets.filter(([set]) => isInSet(options, set)).map(([set, names]) =>
    [`${set}:`, ...names.filter((name) => isWanted(options, name))].join("\n  ")
  ).join("\n");
}

async function measureGrowth(bench: Bench): Promise<number> {
  await prepareGrowth(bench);
  const wanted = Object.entries(growths).filter(([name]) => isWanted(bench.options, name));
  const tables: GrowthTable[] = [];
  for (const [, measure] of wanted) tables.push(await measure(bench));
  console.log(bench.options.json ? JSON.stringify(tables) : growthText(tables));
  return 0;
}

async function measureCases(bench: Bench): Promise<number> {
  progress(`Filling PostgreSQL ${bench.postgres.version}...`);
  await runSql(bench, `${roles}${schema}${plainFixture}${rlsFixture}`);
  await runSql(bench, "vacuum analyze");
  const results = { loads: await contestLoads(bench), large: await contestLarge(bench) };
  console.log(bench.options.json ? resultJson(results) : resultTables(results));
  return isFlawless(results) ? 0 : 1;
}

if (import.meta.main) {
  const code = await main(Deno.args).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  });
  Deno.exit(code);
}
