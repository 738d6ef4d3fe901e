/** Measures large answers: time, and the memory of the server and of PostgreSQL. @module */
import { withClient } from "../../tests/support/database/postgres_client.ts";
import { memoryOf, resetPeak } from "../../tests/support/server/process_memory.ts";
import { type Bench, progress, repeat, startServers } from "./bench.ts";
import { median } from "./figures.ts";
import { anonymousRole, serverConfig } from "./fixture.ts";
import type { BenchServer } from "./servers.ts";
import { markdownTable, shown } from "./table.ts";

/** Rows of 1 KB, in a table and in a view. */
export const largeTables = `
  create table api.wide as
    select n as id, 'the name of row ' || n as name, repeat('a few words and ', 61) as note
    from generate_series(1, 100000) n;
  analyze api.wide;
  create view api.huge as
    select n as id, 'the name of row ' || n as name, repeat('a few words and ', 61) as note
    from generate_series(1, 3000000) n;
  grant select on api.wide, api.huge to ${anonymousRole};
`;

/** The rows of one request. Times in milliseconds, memory in megabytes. */
interface AnswerFigures {
  readonly name: string;
  readonly megabytes: number;
  readonly firstByte: number;
  readonly total: number;
  readonly growth: number;
  /** Highest private memory of one PostgreSQL process. */
  readonly postgresMemory: number;
}

interface AnswerRequest {
  readonly server: BenchServer;
  readonly relation: "wide" | "huge";
  readonly accept: string;
}

const types = ["application/json", "application/x-ndjson", "text/csv"];

/** Measures all answers, and writes the table as Markdown. */
export async function measureAnswers(bench: Bench): Promise<string> {
  const results: AnswerFigures[] = [];
  for (let round = 0; round < bench.options.rounds; round++) {
    await using servers = await startServers(bench);
    for (const server of servers.all) {
      for (const accept of server.name === "peer" ? [types[0]!] : types) {
        results.push(await measureAnswer(bench, { server, relation: "wide", accept }));
      }
    }
    results.push(await measureFirstLine(servers.all[0]!));
    results.push(await measureFirstRow(bench));
  }
  for (const accept of types) {
    // What one answer leaves behind would hide the growth by the next.
    await using servers = await startServers(bench);
    const server = servers.all[0]!;
    results.push(await measureAnswer(bench, { server, relation: "huge", accept }));
  }
  const heads = ["answer", "MB", "first byte ms", "whole ms", "growth MB", "PostgreSQL MB"];
  const cells = results.map(({ name, ...figures }) => [name, ...Object.values(figures).map(shown)]);
  return markdownTable(heads, cells);
}

async function measureAnswer(
  { postmaster }: Bench,
  { server, relation, accept }: AnswerRequest,
): Promise<AnswerFigures> {
  const name = `${relation}, ${accept}, ${server.name}`;
  progress(name);
  const base = await memoryOf(server.pid, "VmRSS");
  await resetPeak(server.pid);
  const postgres = repeat(() => postgresMemoryOf(postmaster), sampleMs);
  const began = performance.now();
  const response = await fetch(`${server.origin}/${relation}`, { headers: { Accept: accept } });
  let bytes = 0;
  let firstByte = 0;
  for await (const chunk of response.body!) {
    if (bytes === 0) firstByte = performance.now() - began;
    bytes += chunk.length;
  }
  const total = performance.now() - began;
  const postgresMemory = await postgres.stop();
  if (response.status !== 200) throw new Error(`${name}: ${response.status}`);
  const growth = (await memoryOf(server.pid, "VmHWM") - base) / 1e6;
  return { name, megabytes: bytes / 1e6, firstByte, total, growth, postgresMemory };
}

/** How often the first row is measured; the median counts. */
const firstRowTurns = 11;

/** The first line of an answer whose end is read as well. */
async function measureFirstLine(server: BenchServer): Promise<AnswerFigures> {
  return await medianFirstRow(`first line, ${server.name}`, async () => {
    const began = performance.now();
    const headers = { Accept: "application/x-ndjson" };
    const response = await fetch(`${server.origin}/wide?id=lte.2000`, { headers });
    let firstByte = 0;
    for await (const _ of response.body!) firstByte ||= performance.now() - began;
    return firstByte;
  });
}

/** The first row on a connection without a server around it. */
async function measureFirstRow(bench: Bench): Promise<AnswerFigures> {
  return await withClient(String(serverConfig(bench.postgres)["db-uri"]), async (client) => {
    await client.query(`set role ${anonymousRole}`);
    return await medianFirstRow("first row, bare connection", async () => {
      const began = performance.now();
      await client.query("select row_to_json(t)::text from api.wide t limit 1");
      return performance.now() - began;
    });
  });
}

async function medianFirstRow(
  name: string,
  measure: () => Promise<number>,
): Promise<AnswerFigures> {
  const times: number[] = [];
  for (let turn = 0; turn < firstRowTurns; turn++) times.push(await measure());
  return {
    name,
    megabytes: NaN,
    firstByte: median(times),
    total: NaN,
    growth: NaN,
    postgresMemory: NaN,
  };
}

/** Period of the samples of PostgreSQL's memory. */
const sampleMs = 20;

/** Returns the highest private memory of one of PostgreSQL's processes, in megabytes. */
async function postgresMemoryOf(postmaster: number): Promise<number> {
  const all = (await childrenOf(postmaster)).map(privateMemoryOf);
  return Math.max(0, ...await Promise.all(all)) / 1e6;
}

async function childrenOf(pid: number): Promise<readonly string[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => "");
  return text.split(" ").filter((child) => child !== "");
}

async function privateMemoryOf(pid: string): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}
