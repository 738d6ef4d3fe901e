/** How costs grow: with connections, rows, tables and the size of a body. @module */
import { bulkTable } from "../../tests/support/database/bulk_rows.ts";
import { memoryOf } from "../../tests/support/server/process_memory.ts";
import { type Bench, progress, runSql } from "./bench.ts";
import { items, schema, serverConfig, tablesSql } from "./fixture.ts";
import { bulkInsert, measureLarge } from "./large.ts";
import { type LoadFigures, measureLoad } from "./measure.ts";
import { isWanted } from "./options.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";
import type { LoadRequest } from "./wrk.ts";

/** A table of what was measured. */
interface GrowthTable {
  /** What grows comes first. */
  readonly heads: readonly string[];
  readonly rows: readonly (readonly number[])[];
}

/** What is measured; each prepares what it needs. */
const growths: Readonly<Record<string, (bench: Bench) => Promise<GrowthTable>>> = {
  connections: growConnections,
  rows: growRows,
  tables: growTables,
  bodies: growBodies,
};

/** Returns a table for each growth that the options select. */
export async function measureGrowth(bench: Bench): Promise<string> {
  const tables: GrowthTable[] = [];
  for (const [name, measure] of Object.entries(growths)) {
    if (isWanted(bench.options, name)) tables.push(await measure(bench));
  }
  return bench.options.json ? JSON.stringify(tables) : tables
    .map(({ heads, rows }) => markdownTable(heads, rows.map((row) => row.map(shown))))
    .join("\n\n");
}

const rowByKey: LoadRequest = { line: "GET /items?id=eq.{1..10000}" };

function startOwn({ postgres }: Bench, database = "postgres"): Promise<BenchServer> {
  const config = serverConfig(postgres, database);
  return startServer("service", ownCommand, { config });
}

/** Where a load goes, and from how many connections. */
interface Target {
  readonly server: BenchServer;
  readonly bench: Bench;
  readonly connections?: number;
}

/** Measures after a second of warming up. */
async function measured(
  request: LoadRequest,
  { server, bench: { postmaster, options }, connections = options.connections }: Target,
): Promise<LoadFigures> {
  const common = { server, postmaster, connections };
  await measureLoad(request, { ...common, seconds: 1 });
  const figures = await measureLoad(request, { ...common, seconds: options.seconds });
  if (figures.failed > 0) throw new Error(`${request.line}: ${figures.failed} answers failed`);
  return figures;
}

async function growConnections(bench: Bench): Promise<GrowthTable> {
  await using server = await startOwn(bench);
  const rows: number[][] = [];
  for (const connections of [1, 10, 100, 1000]) {
    progress(`${connections} connections`);
    const run = await measured(rowByKey, { server, bench, connections });
    rows.push([connections, run.perSecond, run.p50, run.p99, run.cpu, run.peakMemory]);
  }
  const heads = ["connections", "requests/s", "p50 ms", "p99 ms", "CPU µs", "peak MB"];
  return { heads, rows };
}

async function growRows(bench: Bench): Promise<GrowthTable> {
  const counts = [1, 1000, 100_000, 1_000_000];
  for (const count of counts) {
    progress(`Writing ${count} rows...`);
    await runSql(
      bench,
      `create table api.rows_${count} (id int primary key, name text);
      insert into api.rows_${count} select n, 'row ' || n from generate_series(1, ${count}) n;
      analyze api.rows_${count};`,
    );
  }
  await using server = await startOwn(bench);
  const rows: number[][] = [];
  for (const count of counts) {
    progress(`${count} rows`);
    const page = `GET /rows_${count}?order=id&limit=100`;
    const last = Math.max(0, count - 100);
    const byOffset = await measured({ line: `${page}&offset={0..${last}}` }, { server, bench });
    const byKey = await measured({ line: `${page}&id=gt.{0..${last}}` }, { server, bench });
    rows.push([count, byOffset.perSecond, byOffset.p50, byKey.perSecond, byKey.p50]);
  }
  const page = "page of 100 at an offset, requests/s";
  return { heads: ["rows", page, "p50 ms", "page after a key, requests/s", "p50 ms"], rows };
}

async function growTables(bench: Bench): Promise<GrowthTable> {
  const rows: number[][] = [];
  for (const count of [10, 100, 1000, 10_000]) {
    const database = `tables_${count}`;
    progress(`Making ${count} tables...`);
    await runSql(bench, `create database ${database}`);
    await runSql(bench, `${schema}${items}`, database);
    await runSql(bench, tablesSql("api", count), database);
    await runSql(bench, "vacuum analyze", database);
    await using server = await startOwn(bench, database);
    const memory = await memoryOf(server.pid, "VmRSS") / 1_000_000;
    const run = await measured(rowByKey, { server, bench });
    rows.push([count, server.startedIn, await schemaLoad(server), memory, run.perSecond, run.p50]);
  }
  const load = "schema load ms";
  return {
    heads: ["tables", "start to answer ms", load, "memory MB", "row by key, requests/s", "p50 ms"],
    rows,
  };
}

/** Milliseconds for asking and for taking in the answers, as the log says. */
async function schemaLoad({ stderr }: BenchServer): Promise<number> {
  const parts = ["queried", "loaded"].map(async (part) => {
    const line = await stderr.waitFor(new RegExp(`${part} in [\\d.]+ milliseconds`));
    return Number(/ in ([\d.]+) /.exec(line)![1]);
  });
  return (await Promise.all(parts)).reduce((sum, each) => sum + each);
}

/** How often a body of each size is sent; the best time counts. */
const turns = 3;

async function growBodies(bench: Bench): Promise<GrowthTable> {
  await runSql(bench, bulkTable);
  await using server = await startOwn(bench);
  const baseMemory = await memoryOf(server.pid, "VmRSS");
  const rows: number[][] = [];
  for (const bytes of [1e3, 1e4, 1e5, 1e6, 1e7, 1e8]) {
    progress(`Inserting ${bytes} bytes...`);
    const each = {
      name: `${bytes} bytes`,
      request: bulkInsert(bytes),
      status: 201,
      floor: null,
      setup: "",
    };
    const runs = [];
    for (let turn = 0; turn < turns; turn++) {
      await runSql(bench, "truncate api.bulk");
      runs.push(await measureLarge(each, { server, baseMemory, postmaster: bench.postmaster }));
    }
    const total = Math.min(...runs.map((run) => run.total));
    const growth = Math.max(...runs.map((run) => run.growth));
    rows.push([bytes / 1000, total, bytes / 1000 / total, growth]);
  }
  return { heads: ["body kB", "insert ms", "MB/s", "growth MB"], rows };
}
