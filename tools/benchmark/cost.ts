/**
 * Measures the processor time of requests, in multiples of the time of a bare program, which only sends
 * the hand-written statement: at full load, at fixed rates, and without any request. Each process is
 * warm before it is measured.
 *
 * @module
 */
import { type Bench, pause, progress, runSql, untilIdle } from "./bench.ts";
import { caseNamed, type LoadCase, rowByKey } from "./cases.ts";
import { geometricMean, median } from "./figures.ts";
import { makeUsers, plainFixture, roles, schema, serverConfig } from "./fixture.ts";
import { openFloor } from "./floor.ts";
import { type LoadFigures, measureLoad } from "./measure.ts";
import { isWanted } from "./options.ts";
import { sendAtRate } from "./paced.ts";
import { processTime } from "./process_time.ts";
import { shellWord } from "../../src/base/lib/shell_word.ts";
import { rlsFixture } from "./rls_fixture.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";

/** A case, and the highest multiples that it may cost. */
interface CostCase {
  readonly name: string;
  /** Highest processor time of the service, in multiples of the bare program's time. */
  readonly service: number;
  /** Highest processor time of PostgreSQL, in multiples of the hand-written statement's time. */
  readonly postgres: number;
}

const costCases: readonly CostCase[] = [
  { name: "row by key", service: 1.25, postgres: 1.15 },
  { name: "user's row by key", service: 1.3, postgres: 1.15 },
  { name: "user's page of 20", service: 1.3, postgres: 1.15 },
  { name: "user's insert, representation", service: 1.6, postgres: 1.4 },
  { name: "call by POST", service: 1.6, postgres: 1.4 },
];

const rounds = 3;
/** Seconds of a run. In shorter runs, the garbage collection after a pause dominates. */
const runSeconds = 5;
/** Intervals of the warm-up: V8 compiles code during half a minute of full load. */
const interval = { seconds: 5, least: 4, most: 12 } as const;
/** A process is warm if the times of two intervals differ by less than this share. */
const steady = 0.1;

const rates = [50, 1000] as const;
const rateSeconds = 20;
const idleSeconds = 30;

/** A program that is measured. */
interface Program {
  readonly title: string;
  readonly command: string;
}

/** A started program and its processor time for a request, in microseconds. */
interface Runner {
  readonly title: string;
  readonly server: BenchServer;
  readonly cpu: number[];
  /** PostgreSQL's time of each run, in multiples of the hand-written statement's time. */
  readonly postgres: number[];
  /** Ratio of the times of the first and the last interval of the warm-up. */
  cold: number;
}

/** Returns tables of the cases, the rates, and of a service without requests. */
export async function measureCost(bench: Bench): Promise<string> {
  const { before, peer } = bench.options;
  await runSql(bench, `${roles}${schema}${plainFixture}${rlsFixture}`);
  await runSql(bench, "vacuum analyze");
  await using resources = new AsyncDisposableStack();
  const services: Program[] = [{ title: "svc", command: ownCommand }];
  if (before !== null) {
    services.push({ title: before, command: await commandOf(before, resources) });
  }
  const tables = [await caseTable(services, bench)];
  if (bench.options.cases.length === 0) {
    const peers = peer === null ? [] : [{ title: "peer", command: peer }];
    const empty = { title: "empty response", command: programCommand("./empty_server.ts") };
    tables.push(await rateTable([...services, ...peers, empty], bench));
  }
  return tables.join("\n\n");
}

async function caseTable(services: readonly Program[], bench: Bench): Promise<string> {
  const users = await makeUsers();
  const rows: string[][] = [];
  const means = services.map((): number[] => []);
  for (const { name, service, postgres } of costCases) {
    if (!isWanted(bench.options, name)) continue;
    const bare = { title: "bare program", command: programCommand("./bare_server.ts", name) };
    const runners = await measureCase(caseNamed(name, users), [...services, bare], bench);
    const { cpu: least } = runners.at(-1)!;
    const cells = runners.slice(0, -1).flatMap((each, index) => {
      const multiple = median(each.cpu.map((cpu, round) => cpu / least[round]!));
      means[index]!.push(multiple);
      return [shown(median(each.cpu)), times(multiple), times(each.cold), postgresCell(each)];
    });
    rows.push([name, ...cells, shown(median(least)), `≤ ${service}×`, `≤ ${postgres}×`]);
  }
  const meanCells = means.flatMap((all) => ["", times(geometricMean(all)), "", ""]);
  rows.push(["geometric mean", ...meanCells, "", "", ""]);
  const heads = services.flatMap(({ title }) => [title, "of bare", "first 5 s", "PostgreSQL"]);
  return markdownTable(["µs of a request", ...heads, "bare", "target", "PostgreSQL"], rows);
}

function postgresCell({ postgres }: Runner): string {
  return times(median(postgres));
}

function programCommand(module: string, ...args: readonly string[]): string {
  const path = new URL(module, import.meta.url).pathname;
  return [`${Deno.execPath()} run -A ${path} {conf}`, ...args.map(shellWord)].join(" ");
}

function times(multiple: number): string {
  return `${shown(multiple)}×`;
}

/** Checks an earlier revision out, and returns its command. */
async function commandOf(revision: string, resources: AsyncDisposableStack): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "svc_revision_" });
  resources.defer(() => Deno.remove(folder, { recursive: true }));
  const root = new URL("../..", import.meta.url).pathname;
  const script = 'set -o pipefail; git -C "$1" archive "$2" | tar -x -C "$3"';
  const { success } = await new Deno.Command("bash", {
    args: ["-c", script, "bash", root, revision, folder],
  }).output();
  if (!success) throw new Error(`cannot check out ${revision}`);
  return `${Deno.execPath()} run -A ${folder}/main.ts {conf}`;
}

/** Starts new processes for a case, so that it shows their warm-up, and measures them in turn. */
async function measureCase(
  each: LoadCase,
  programs: readonly Program[],
  bench: Bench,
): Promise<readonly Runner[]> {
  const { postmaster, options: { connections } } = bench;
  await using resources = new AsyncDisposableStack();
  const config = serverConfig(bench.postgres);
  const floor = resources.use(await openFloor(each, String(config["db-uri"])));
  const reset = async () => {
    await untilIdle(bench);
    if (each.reset !== undefined) await runSql(bench, each.reset);
  };
  const run = async (server: BenchServer, seconds: number) => {
    await reset();
    const figures = await measureLoad(each.request, { server, postmaster, connections, seconds });
    if (figures.failed > 0) throw new Error(`${each.name}: ${figures.failed} requests failed`);
    return figures;
  };
  const runners: Runner[] = [];
  for (const { title, command } of programs) {
    const server = resources.use(await startServer("service", command, { config, probe: "/" }));
    const warming = await warmUp(`${each.name}, ${title}`, () => run(server, interval.seconds));
    runners.push({ title, server, cpu: [], postgres: [], cold: warming[0]! / warming.at(-1)! });
  }
  for (let round = 0; round < rounds; round++) {
    await reset();
    const { postgresCpu: handWritten } = await floor.measure({
      postmaster,
      seconds: runSeconds / 5,
      inFlight: connections,
    });
    for (let place = 0; place < runners.length; place++) {
      // The order changes, so that no program always runs after the same one.
      const runner = runners[(place + round) % runners.length]!;
      const { cpu, postgresCpu } = await run(runner.server, runSeconds);
      runner.cpu.push(cpu);
      runner.postgres.push(postgresCpu / handWritten);
      progress(`${each.name}, ${runner.title}: ${shown(cpu)} µs`);
    }
  }
  return runners;
}

/** Repeats a run until two of them differ little; returns the times of all. */
async function warmUp(
  title: string,
  run: () => Promise<Pick<LoadFigures, "cpu">>,
): Promise<readonly number[]> {
  const all: number[] = [];
  while (all.length < interval.most) {
    all.push((await run()).cpu);
    const [previous = Infinity, last = 0] = all.slice(-2);
    if (all.length >= interval.least && Math.abs(previous - last) < steady * last) break;
  }
  progress(`${title}, by ${interval.seconds} s: ${all.map((cpu) => shown(cpu)).join(", ")} µs`);
  return all;
}

/** Returns a table of the processor time at fixed rates of requests, and without requests. */
async function rateTable(programs: readonly Program[], bench: Bench): Promise<string> {
  const config = serverConfig(bench.postgres);
  const rows: string[][] = [];
  for (const { title, command } of programs) {
    await using server = await startServer("service", command, { config, probe: "/" });
    const cells: string[] = [];
    for (const rate of rates) {
      await sendAtRate(rowByKey.request, { server, rate, seconds: rateSeconds });
      const before = await processTime(server.pid);
      const count = await sendAtRate(rowByKey.request, { server, rate, seconds: rateSeconds });
      cells.push(shown((await processTime(server.pid) - before) / count));
    }
    await pause(1000);
    const before = await processTime(server.pid);
    await pause(idleSeconds * 1000);
    const idle = (await processTime(server.pid) - before) / (idleSeconds * 1e6);
    rows.push([title, ...cells, `${shown(100 * idle)} %`]);
    progress(`${title}: ${cells.join(", ")} µs, idle ${shown(100 * idle)} %`);
  }
  const heads = rates.map((rate) => `µs at ${rate}/s`);
  return markdownTable(["row by key", ...heads, "of a core when idle"], rows);
}
