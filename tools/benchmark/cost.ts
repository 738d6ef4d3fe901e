/**
 * Measures the processor time of requests: the service's as a multiple of an empty `Deno.serve`
 * response, and PostgreSQL's as a multiple of the hand-written statement, each in the same round.
 * For comparison, it measures a bare program, which only sends the hand-written statement.
 *
 * @module
 */
import { type Bench, progress, runSql, untilIdle } from "./bench.ts";
import { geometricMean, median } from "./figures.ts";
import { makeUsers, plainFixture, roles, schema, serverConfig } from "./fixture.ts";
import { openFloor } from "./floor.ts";
import { measureLoad } from "./measure.ts";
import { caseNamed, type LoadCase } from "./cases.ts";
import { rlsFixture } from "./rls_fixture.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";

/** A case, and the highest multiples that it may cost. */
interface CostCase {
  readonly name: string;
  readonly service: number;
  readonly postgres: number;
}

const costCases: readonly CostCase[] = [
  { name: "row by key", service: 4, postgres: 1.15 },
  { name: "user's row by key", service: 4.5, postgres: 1.15 },
  { name: "user's insert, representation", service: 6.5, postgres: 1.4 },
  { name: "user's page of 20", service: 7.5, postgres: 1.15 },
];
const maxMean = 5.5;

const rounds = 5;
/** Less than 60,000 requests leave code that is not compiled yet, at up to twice the cost. */
const warmUpSeconds = 15;
const runSeconds = 1;

/** What is measured in each round. */
interface Servers {
  readonly empty: BenchServer;
  /** The service, and its earlier revision if there is one. */
  readonly services: readonly { readonly title: string; readonly server: BenchServer }[];
}

/** The multiples of one service in each round. */
interface Multiples {
  readonly service: number[];
  readonly postgres: number[];
}

/** Returns the table of the cases; and an earlier revision of the service, unless that is null. */
export async function measureCost(bench: Bench): Promise<string> {
  const { before } = bench.options;
  await runSql(bench, `${roles}${schema}${plainFixture}${rlsFixture}`);
  await runSql(bench, "vacuum analyze");
  await using resources = new AsyncDisposableStack();
  const config = serverConfig(bench.postgres);
  const start = async (command: string, probe?: string) =>
    resources.use(await startServer("service", command, { config, ...(probe ? { probe } : {}) }));
  const empty = await start(programCommand("./empty_server.ts"), "/");
  const services = [{ title: "now", server: await start(ownCommand) }];
  if (before !== null) {
    const command = await commandOf(before, resources);
    services.push({ title: before, server: await start(command) });
  }
  const users = await makeUsers();
  const rows: string[][] = [];
  const all = [...services, null].map((): number[] => []);
  for (const each of costCases) {
    await using bare = await startServer("service", programCommand("./bare_server.ts", each.name), {
      config,
      probe: "/",
    });
    const measured = await measureCase(
      caseNamed(each.name, users),
      { empty, services: [...services, { title: bareTitle, server: bare }] },
      bench,
    );
    rows.push([
      each.name,
      ...measured.flatMap((multiples) => [times(multiples.service), times(multiples.postgres)]),
      `≤ ${each.service}×`,
      `≤ ${each.postgres}×`,
    ]);
    measured.forEach(({ service }, index) => all[index]!.push(median(service)));
  }
  const means = all.flatMap((multiples) => [times([geometricMean(multiples)]), ""]);
  rows.push(["geometric mean", ...means, `≤ ${maxMean}×`, ""]);
  const titles = [...services.map(({ title }) => title), bareTitle];
  const heads = titles.flatMap((title) => [title, "PostgreSQL"]);
  return markdownTable(["case", ...heads, "target", "PostgreSQL"], rows);
}

const bareTitle = "bare program";

function programCommand(module: string, ...args: readonly string[]): string {
  const path = new URL(module, import.meta.url).pathname;
  return [`${Deno.execPath()} run -A ${path} {conf}`, ...args.map((arg) => `'${arg}'`)].join(" ");
}

function times(multiples: readonly number[]): string {
  return `${shown(median(multiples))}×`;
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

async function measureCase(
  each: LoadCase,
  { empty, services }: Servers,
  bench: Bench,
): Promise<readonly Multiples[]> {
  const { postmaster, options: { connections } } = bench;
  const uri = String(serverConfig(bench.postgres)["db-uri"]);
  await using floor = await openFloor(each, uri);
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
  for (const { server } of services) await run(server, warmUpSeconds);
  const measured = services.map((): Multiples => ({ service: [], postgres: [] }));
  for (let round = 0; round < rounds; round++) {
    const { cpu: least } = await run(empty, runSeconds);
    await reset();
    const { postgresCpu: handWritten } = await floor.measure({
      postmaster,
      seconds: runSeconds / 2,
      inFlight: connections,
    });
    for (let place = 0; place < services.length; place++) {
      // The order changes, so that no program always runs after the same one.
      const index = (place + round) % services.length;
      const { title, server } = services[index]!;
      const { cpu, postgresCpu } = await run(server, runSeconds);
      measured[index]!.service.push(cpu / least);
      measured[index]!.postgres.push(postgresCpu / handWritten);
      progress(
        `${each.name}, ${title}: ${shown(cpu)} µs of ${shown(least)}, ` +
          `${shown(postgresCpu)} µs of ${shown(handWritten)}`,
      );
    }
  }
  return measured;
}
