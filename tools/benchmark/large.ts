/** Requests that are sent one at a time, because their answers or bodies are large. @module */
import { withClient } from "../../tests/support/database/postgres_client.ts";
import { memoryOf, resetPeak } from "../../tests/support/server/process_memory.ts";
import { exchange, type RawRequest } from "./exchange.ts";
import { processTime } from "./process_time.ts";
import { takeRole } from "./floor.ts";
import type { BenchServer } from "./servers.ts";

/** A large request. */
export interface LargeCase {
  readonly name: string;
  readonly request: RawRequest;
  /** Minimum number of bytes of the answer. */
  readonly answerSize: number;
  /** The statement that a person would write for the answer, or null. */
  readonly floor: string | null;
  /** SQL that runs once, before the first run. */
  readonly setup: string;
  /** SQL that is run before each run. */
  readonly reset?: string;
  /** Whether PostgREST can answer it. PostgREST stores whole bodies in memory and has no ndjson. */
  readonly isForPeers: boolean;
}

/** A format of rows: the media type, and the texts of which a body consists. */
interface RowFormat {
  readonly name: string;
  readonly type: string;
  readonly start: string;
  /** Rows of about 1 MB. */
  readonly block: string;
  readonly separator: string;
  readonly end: string;
}

const rows = Array.from({ length: 6000 }, (_, id) => ({
  id,
  name: `the name of row ${id}`,
  price: id / 8,
  tags: ["a", "b"],
  note: 'a longer text, with "quotes", é, and a few more words to make a line of it',
}));

const csvRows = rows.map(({ id, name, price, note }) =>
  `${id},${name},${price},"{a,b}","${note.replaceAll('"', '""')}"\n`
);

const json: RowFormat = {
  name: "JSON",
  type: "application/json",
  start: "[",
  block: rows.map((row) => JSON.stringify(row)).join(","),
  separator: ",",
  end: "]",
};

const formats: readonly RowFormat[] = [
  json,
  {
    name: "ndjson",
    type: "application/x-ndjson",
    start: "",
    block: rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
    separator: "",
    end: "",
  },
  {
    name: "CSV",
    type: "text/csv",
    start: "id,name,price,tags,note\n",
    block: csvRows.join(""),
    separator: "",
    end: "",
  },
];

/** Returns a body of at least `bytes` bytes, in which the same block repeats. */
function bodyOf({ start, block, separator, end }: RowFormat, bytes: number) {
  const encoder = new TextEncoder();
  const next = encoder.encode(separator + block);
  const repeated = Array.from({ length: Math.ceil(bytes / next.length) - 1 }, () => next);
  return [encoder.encode(start + block), ...repeated, encoder.encode(end)];
}

/** A table without an index, so that the time of an insert does not depend on the number of rows. */
const uploads = `create unlogged table if not exists
  api.uploads (id int, name text, price numeric, tags text[], note text)`;

function insertCase(format: RowFormat, bytes: number): LargeCase {
  return {
    name: `${bytes / 1e6} MB insert, ${format.name}`,
    request: {
      line: "POST /uploads",
      headers: { "Content-Type": format.type, Prefer: "return=minimal" },
      body: bodyOf(format, bytes),
    },
    answerSize: 0,
    floor: null,
    setup: uploads,
    reset: "truncate api.uploads",
    isForPeers: format === json && bytes < 1e9,
  };
}

const rowText = `n as id, 'the name of row ' || n as name, repeat('a few words and ', 61) as note`;

/** Rows of 1 KB, in a table and in a view. */
const answers = `
  create table if not exists api.wide as select ${rowText} from generate_series(1, 100000) n;
  create or replace view api.huge as select ${rowText} from generate_series(1, 3000000) n;
  analyze api.wide;
`;

function answerCase(relation: "wide" | "huge", { name, type }: RowFormat): LargeCase {
  const gigabytes = relation === "huge";
  return {
    name: `${gigabytes ? "3 GB" : "100 MB"} answer, ${name}`,
    request: { line: `GET /${relation}`, headers: { Accept: type } },
    answerSize: gigabytes ? 3e9 : 1e8,
    floor: gigabytes || type !== json.type
      ? null
      : "select coalesce(json_agg(wide), '[]') from wide",
    setup: answers,
    isForPeers: !gigabytes && type === json.type,
  };
}

/** The cases of the set `large`. */
export function largeCases(): readonly LargeCase[] {
  return [answerCase("wide", json), insertCase(json, 50e6)];
}

/** The cases of the set `bodies`, each in all formats. */
export function bodyCases(): readonly LargeCase[] {
  return formats.flatMap((format) => [
    answerCase("wide", format),
    answerCase("huge", format),
    insertCase(format, 50e6),
    insertCase(format, 1e9),
  ]);
}

/** The figures of a large request. Times are in milliseconds. */
export type LargeField =
  | "total"
  | "firstByte"
  /** Processor time of the server. */
  | "cpu"
  | "postgresCpu"
  /** Highest resident memory minus the memory before the first request, in megabytes. */
  | "growth";

/** A number for each figure of a large request. */
export type LargeFigures = Readonly<Record<LargeField, number>>;

/** Sends a request once. Rejects with an `Error` if the answer is too short or not a success. */
export async function measureLarge(
  { name, request, answerSize }: LargeCase,
  { server, postmaster, baseMemory }: {
    readonly server: BenchServer;
    readonly postmaster: number;
    /** Resident memory of the server before the first request, in bytes. */
    readonly baseMemory: number;
  },
): Promise<LargeFigures> {
  await resetPeak(server.pid);
  const [own, postgres] = [await processTime(server.pid), await processTime(postmaster)];
  const answer = await exchange(server.origin, request);
  if (answer.status >= 300 || answer.bytes < answerSize) {
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

/** The socket of a `pg.Client`, which the types of the package do not contain. */
interface Sockets {
  readonly connection: {
    readonly stream: { once(event: "data", listener: () => void): void };
  };
}

/**
 * Measures a statement on a bare connection. `firstByte` is the time at which PostgreSQL has filled
 * its first buffer with rows.
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
