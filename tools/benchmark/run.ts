/** Measures the service, and another server of the same interface if there is one. Run:
 * `deno task bench --help`. @module */
import { type Bench, progress, runSql, startBench } from "./bench.ts";
import { casesOf, loadSets } from "./cases.ts";
import { measureCost } from "./cost.ts";
import { items, makeUsers, plainFixture, roles, schema } from "./fixture.ts";
import { measureFeatures, measureWorkers } from "./features.ts";
import { measureGuards } from "./guards.ts";
import { measureKnown } from "./known.ts";
import { bodyCases, largeCases } from "./large.ts";
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
import { measureReplicas } from "./replicas.ts";
import { isFlawless, largeTable, resultJson, resultTables } from "./report.ts";
import { runFacts } from "./run_facts.ts";
import { rlsFixture } from "./rls_fixture.ts";
import { needWrk } from "./wrk.ts";

/** Runs the benchmark. Returns the exit code. */
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

/** A set with the SQL of its fixture, and the function that measures it and returns tables. */
interface MeasuredSet {
  readonly prepare: string;
  readonly measure: (bench: Bench) => Promise<string>;
}

const schemaOfItems = `${roles}${schema}${items}`;

const namedSets: Readonly<Record<NamedSet, MeasuredSet>> = {
  guards: { prepare: schemaOfItems, measure: measureGuards },
  features: { prepare: schemaOfItems, measure: measureFeatures },
  replicas: { prepare: `${roles}${schema}${plainFixture}`, measure: measureReplicas },
  bodies: { prepare: schemaOfItems, measure: measureBodies },
  workers: { prepare: schemaOfItems, measure: measureWorkers },
  cost: { prepare: "", measure: measureCost },
  known: { prepare: schemaOfItems, measure: (bench) => measureKnown("known", bench) },
  policies: {
    prepare: `${roles}${schema}${plainFixture}${rlsFixture}`,
    measure: (bench) => measureKnown("policies", bench),
  },
};

async function measureBodies(bench: Bench): Promise<string> {
  const { rounds } = bench.options;
  return largeTable(await contestLarge(bench, { cases: bodyCases(), rounds }));
}

/** The names of the cases, with a line for each set. */
async function caseList(options: BenchOptions): Promise<string> {
  const users = await makeUsers();
  const sets = [
    ...loadSets.map((set) => [set, casesOf(set, users).map(({ name }) => name)] as const),
    ["large", largeCases().map(({ name }) => name)] as const,
  ];
  return sets.filter(([set]) => isInSet(options, set)).map(([set, names]) =>
    [`${set}:`, ...names.filter((name) => isWanted(options, name))].join("\n  ")
  ).join("\n");
}

/** Minimum number of runs of a large request. The median of fewer runs varies too much. */
const minLargeRounds = 3;

async function measureCases(bench: Bench): Promise<number> {
  progress(`Filling PostgreSQL ${bench.postgres.version}...`);
  await runSql(bench, `${roles}${schema}${plainFixture}${rlsFixture}`);
  await runSql(bench, "vacuum analyze");
  const cases = isInSet(bench.options, "large") ? largeCases() : [];
  const rounds = Math.max(minLargeRounds, bench.options.rounds);
  const results = {
    loads: await contestLoads(bench),
    large: await contestLarge(bench, { cases, rounds }),
  };
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
