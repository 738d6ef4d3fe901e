/** Measures the service, beside another server of the same interface if there is one. Run: `deno
 * task bench --help`. @module */
import { type Bench, progress, runSql, startBench } from "./bench.ts";
import { measureBodies } from "./bodies.ts";
import { casesOf, loadSets } from "./cases.ts";
import { measureCost } from "./cost.ts";
import { items, makeUsers, plainFixture, roles, schema } from "./fixture.ts";
import { measureFeatures } from "./features.ts";
import { measureGrowth } from "./growth.ts";
import { measureGuards } from "./guards.ts";
import { largeTables, measureAnswers } from "./large_answers.ts";
import { largeCases } from "./large.ts";
import { contestLarge, contestLoads } from "./contest.ts";
import {
  type BenchOptions,
  isInSet,
  isNamedSet,
  isWanted,
  type NamedSet,
  parseOptions,
  usage,
} from "./options.ts";
import { measureOverload } from "./overload.ts";
import { measureReplicas } from "./replicas.ts";
import { isFlawless, resultJson, resultTables } from "./report.ts";
import { runFacts } from "./run_facts.ts";
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
  if (!isNamedSet(options.set)) return await measureCases(bench);
  const { prepare, measure } = namedSets[options.set];
  await runSql(bench, prepare);
  await runSql(bench, "vacuum analyze");
  console.log(await measure(bench));
  return 0;
}

/** SQL that a set needs, and what writes its tables. */
interface MeasuredSet {
  readonly prepare: string;
  readonly measure: (bench: Bench) => Promise<string>;
}

const schemaOfItems = `${roles}${schema}${items}`;

const namedSets: Readonly<Record<NamedSet, MeasuredSet>> = {
  guards: { prepare: schemaOfItems, measure: measureGuards },
  features: { prepare: schemaOfItems, measure: measureFeatures },
  writes: { prepare: schemaOfItems, measure: measureWrites },
  replicas: { prepare: `${roles}${schema}${plainFixture}`, measure: measureReplicas },
  growth: { prepare: schemaOfItems, measure: measureGrowth },
  bodies: { prepare: `${schemaOfItems}${largeTables}`, measure: measureLong },
  overload: { prepare: schemaOfItems, measure: measureOverload },
  workers: {
    prepare: schemaOfItems,
    measure: (bench) => measureWorkers(bench.options.workers, bench),
  },
  cost: { prepare: "", measure: (bench) => measureCost(bench.options.before, bench) },
};

async function measureLong(bench: Bench): Promise<string> {
  const parts = { answers: measureAnswers, readers: measureSlowReaders, inserts: measureBodies };
  const tables: string[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (isWanted(bench.options, name)) tables.push(await measure(bench));
  }
  return tables.join("\n\n");
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

async function measureCases(bench: Bench): Promise<number> {
  progress(`Filling PostgreSQL ${bench.postgres.version}...`);
  await runSql(bench, `${roles}${schema}${plainFixture}${rlsFixture}`);
  await runSql(bench, "vacuum analyze");
  const results = { loads: await contestLoads(bench), large: await contestLarge(bench) };
  const { json } = bench.options;
  console.log(json ? resultJson(results, await runFacts(bench)) : resultTables(results));
  return isFlawless(results) ? 0 : 1;
}

if (import.meta.main) {
  const code = await main(Deno.args).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  });
  Deno.exit(code);
}
