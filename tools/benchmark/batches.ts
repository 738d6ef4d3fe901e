/**
 * Measures a batch of ten inserts beside ten requests on one connection, and beside one request with ten rows.
 *
 * @module
 */
import type { FileConfig } from "../../tests/support/process.ts";
import { HttpConnection, requestBytes } from "../../tests/support/http_connection.ts";
import { type Bench, progress, runSql } from "./bench.ts";
import { median } from "./figures.ts";
import { serverConfig } from "./fixture.ts";
import { processTime } from "./process_time.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";

const rowsPerTurn = 10;

/** The server answers it once it is ready. */
const probe = "/entries?limit=1";

const tables = "create table api.entries (id int, name text, price numeric);";

/** A way to insert ten rows: the requests of one turn. */
interface InsertCase {
  readonly name: string;
  readonly requests: readonly Uint8Array[];
  /** Whether other servers know it. */
  readonly isCommon: boolean;
}

const rows = Array.from({ length: rowsPerTurn }, (_, id) => ({
  id,
  name: `row ${id}`,
  price: id / 8,
}));

const insertCases: readonly InsertCase[] = [
  {
    name: `${rowsPerTurn} requests`,
    requests: rows.map((row) => requestBytes("POST /entries", { body: row })),
    isCommon: true,
  },
  {
    name: `1 batch of ${rowsPerTurn} inserts`,
    requests: [requestBytes("POST /", {
      body: { requests: rows.map((body) => ({ method: "POST", url: "/entries", body })) },
    })],
    isCommon: false,
  },
  {
    name: `1 request with ${rowsPerTurn} rows`,
    requests: [requestBytes("POST /entries", { body: rows })],
    isCommon: true,
  },
];

/** One run of a case. */
interface InsertFigures {
  readonly rowsPerSecond: number;
  /** Microseconds of processor time per row, of the server and of PostgreSQL. */
  readonly processorTime: number;
}

/**
 * Runs the cases in turn, and writes their figures and ratios as Markdown: without and with commits that wait
 * for the disk.
 */
export async function measureBatches(bench: Bench): Promise<string> {
  await runSql(bench, tables);
  const parts: string[] = [];
  for (const fsync of ["off", "on"]) {
    await runSql(bench, `alter system set fsync = ${fsync}`);
    await runSql(bench, "select pg_reload_conf()");
    parts.push(`fsync = ${fsync}\n\n${await measureInserts(bench)}`);
  }
  return parts.join("\n\n");
}

async function measureInserts(bench: Bench): Promise<string> {
  await using servers = new AsyncDisposableStack();
  const results: {
    readonly name: string;
    readonly runs: InsertFigures[];
    readonly run: () => Promise<InsertFigures>;
  }[] = [];
  const commands = [["service", ownCommand], ["peer", bench.options.peer]] as const;
  for (const [name, command] of commands) {
    if (command === null) continue;
    progress(`Starting the ${name}...`);
    const own: FileConfig = name === "service" ? { "batch-max-operations": 100 } : {};
    const config = { ...serverConfig(bench.postgres), ...own };
    const server = servers.use(await startServer(name, command, { config, probe }));
    const cases = insertCases.filter(({ isCommon }) => isCommon || name === "service");
    results.push(...cases.map((each) => ({
      name: `${each.name}, ${name}`,
      runs: [],
      run: () => measureRun(bench, server, each),
    })));
  }
  // Each case once without measuring: plans are cached and statements prepared.
  for (let round = -1; round < Math.max(3, bench.options.rounds); round++) {
    for (const { runs, run } of results) {
      await runSql(bench, "truncate api.entries");
      const figure = await run();
      if (round >= 0) runs.push(figure);
    }
  }
  const rates = results.map(({ runs }) => median(runs.map((run) => run.rowsPerSecond)));
  const times = results.map(({ runs }) => median(runs.map((run) => run.processorTime)));
  const cells = results.map(({ name }, index) => [
    name,
    shown(rates[index]!),
    shown(rates[index]! / rates[0]!),
    shown(rates[index]! / rates[2]!),
    shown(times[index]!),
    shown(times[0]! / times[index]!),
  ]);
  const heads = [
    "inserts on one connection",
    "rows/s",
    "to 10 requests",
    "to 10 rows",
    "processor µs/row",
    "to 10 requests",
  ];
  return markdownTable(heads, cells);
}

async function measureRun(
  { options, postmaster }: Bench,
  { origin, pid }: BenchServer,
  { name, requests }: InsertCase,
): Promise<InsertFigures> {
  const connection = await HttpConnection.connect(Number(new URL(origin).port));
  const processors = async () => await processTime(pid) + await processTime(postmaster);
  const before = await processors();
  const began = performance.now();
  const end = began + options.seconds * 1000;
  let turns = 0;
  while (performance.now() < end) {
    for (const request of requests) {
      const { status, body } = await connection.exchange(request, "POST");
      if (status >= 300) throw new Error(`${name}: ${status} ${body}`);
    }
    turns++;
  }
  const seconds = (performance.now() - began) / 1000;
  connection.close();
  const rows = turns * rowsPerTurn;
  const used = await processors() - before;
  return { rowsPerSecond: rows / seconds, processorTime: used / rows };
}
