/** Requests of which one at a time is enough: large answers and large bodies. @module */
import { bulkRows, bulkTable } from "../../tests/support/database/bulk_rows.ts";
import { withClient } from "../../tests/support/database/postgres_client.ts";
import { memoryOf, resetPeak } from "../../tests/support/server/process_memory.ts";
import { exchange, type RawRequest } from "./exchange.ts";
import { processTime } from "./process_time.ts";
import { takeRole } from "./floor.ts";
import type { BenchServer } from "./servers.ts";

/** A request that is sent once at a time. */
export interface LargeCase {
  readonly name: string;
  readonly request: RawRequest;
  readonly status: number;
  /** The statement that a person would write for the answer; null for none. */
  readonly floor: string | null;
  /** SQL that is run once. */
  readonly setup: string;
  /** SQL that is run before each run. */
  readonly reset?: string;
}

/** The smallest number of bytes of an answer that is large. */
const answerSize = 100_000_000;

const wideTable = `
  create table api.wide (id int primary key, name text, note text);
  insert into api.wide
    select n, 'the name of row ' || n, repeat('a few words and ', 28) from generate_series(1, 200000) n;
  analyze api.wide;
`;

/** The request whose answer has {@linkcode answerSize} bytes and a few more. */
export const largeRead: RawRequest = { line: "GET /wide" };

/** Inserts an array of so many bytes. */
export function bulkInsert(bytes: number): RawRequest {
  return {
    line: "POST /bulk",
    headers: { "Content-Type": "application/json", Prefer: "return=minimal" },
    body: bulkRows(bytes),
  };
}

/** The cases; bodies are made when a case is asked for. */
export const largeCases: readonly (readonly [name: string, make: () => LargeCase])[] = [
  ["100 MB answer", () => ({
    name: "100 MB answer",
    request: largeRead,
    status: 200,
    floor: "select coalesce(json_agg(wide), '[]') from wide",
    setup: wideTable,
  })],
  ["50 MB insert", () => ({
    name: "50 MB insert",
    request: bulkInsert(50_000_000),
    status: 201,
    floor: null,
    setup: bulkTable,
    reset: "truncate api.bulk",
  })],
];

/** What is told of a request; times in milliseconds. */
export type LargeField =
  | "total"
  | "firstByte"
  /** Processor time of the server. */
  | "cpu"
  | "postgresCpu"
  /** Resident memory at its highest, above what it was before the first request, in megabytes. */
  | "growth";

/** What one request takes. */
export type LargeFigures = Readonly<Record<LargeField, number>>;

/** Sends a request once. Raises an `Error` when the answer is not the one that it has to be. */
export async function measureLarge(
  { name, request, status }: LargeCase,
  { server, postmaster, baseMemory }: {
    readonly server: BenchServer;
    readonly postmaster: number;
    /** Bytes. */
    readonly baseMemory: number;
  },
): Promise<LargeFigures> {
  await resetPeak(server.pid);
  const [own, postgres] = [await processTime(server.pid), await processTime(postmaster)];
  const answer = await exchange(server.origin, request);
  const isShort = status === 200 && answer.bytes < answerSize;
  if (answer.status !== status || isShort) {
    throw new Error(`${name}: ${server.name} answers ${answer.status}, ${answer.bytes} bytes`);
  }
  return {
    total: answer.total,
    firstByte: answer.firstByte,
    cpu: (await processTime(server.pid) - own) / 1000,
    postgresCpu: (await processTime(postmaster) - postgres) / 1000,
    growth: (await memoryOf(server.pid, "VmHWM") - baseMemory) / 1_000_000,
  };
}

/** The socket of a client, which its published types leave out. */
interface Sockets {
  readonly connection: {
    readonly stream: { once(event: "data", listener: () => void): void };
  };
}

/**
 * Runs a statement on a bare connection and times it: PostgreSQL sends nothing of its answer before the
 * first buffer of the rows is full.
 */
export async function measureBare(
  text: string,
  { uri, postmaster }: { readonly uri: string; readonly postmaster: number },
): Promise<LargeFigures> {
  return await withClient(uri, async (client) => {
    await client.query("begin");
    await takeRole(client, { chance: 0, user: null });
    const postgres = await processTime(postmaster);
    const began = performance.now();
    let firstByte = 0;
    const heard = () => firstByte = performance.now() - began;
    (client as unknown as Sockets).connection.stream.once("data", heard);
    await client.query(text);
    const total = performance.now() - began;
    const postgresCpu = (await processTime(postmaster) - postgres) / 1000;
    return { total, firstByte, cpu: NaN, postgresCpu, growth: NaN };
  });
}
