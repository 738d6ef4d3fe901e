/** Measures inserts of long bodies: time, memory, and how long other requests wait meanwhile.
 * @module */
import { Buffer } from "node:buffer";
import { withClient } from "../../tests/support/database/postgres_client.ts";
import { memoryOf, resetPeak } from "../../tests/support/server/process_memory.ts";
import { type Bench, progress, repeat, runSql, startServers } from "./bench.ts";
import { serverConfig } from "./fixture.ts";
import { type BenchServer, startServer, watchedCommand } from "./servers.ts";
import { longestHold } from "./slow_readers.ts";
import { markdownTable, shown } from "./table.ts";

/** No index: the time per byte does not depend on the rows before. */
const tables = `
  create unlogged table api.uploads (id int, name text, price numeric, tags text[], note text);
`;

/** A text that a body repeats, and the texts around all of it. */
interface BodyFormat {
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

const formats: readonly BodyFormat[] = [
  {
    name: "JSON array",
    type: "application/json",
    start: "[",
    block: rows.map((row) => JSON.stringify(row)).join(","),
    separator: ",",
    end: "]",
  },
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

/** The texts of a body of at least so many bytes. */
function* partsOf(format: BodyFormat, bytes: number): Generator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  yield encoder.encode(format.start);
  const first = encoder.encode(format.block);
  const next = encoder.encode(format.separator + format.block);
  let length = first.length;
  yield first;
  for (; length < bytes; length += next.length) yield next;
  yield encoder.encode(format.end);
}

/** A row of the table of results. Times in milliseconds, memory in megabytes. */
interface BodyFigures {
  readonly name: string;
  readonly total: number;
  readonly megabytesPerSecond: number;
  readonly growth: number;
  /** The longest time that another request took meanwhile. */
  readonly longestOther: number;
  /** The longest time for which the event loop was held; NaN for other servers. */
  readonly held: number;
}

const [mega, giga] = [1e6, 1e9];

/** Between two of the other requests, which are sent one after the other. */
const otherPauseMs = 2;

/** Measures all formats, and writes the table as Markdown. */
export async function measureBodies(bench: Bench): Promise<string> {
  await runSql(bench, tables);
  const results: BodyFigures[] = [];
  for (let round = 0; round < bench.options.rounds; round++) {
    results.push(await measureBare(bench, 50 * mega));
    await using servers = await startServers(bench);
    for (const server of servers.all) {
      for (const format of formats) {
        // The other server knows JSON arrays and CSV, and holds them whole.
        if (server.name === "peer" && format.name === "ndjson") continue;
        results.push(await measureInsert(bench, { server, format, bytes: 50 * mega }));
      }
    }
  }
  for (const format of formats) {
    progress("Starting the service...");
    const config = serverConfig(bench.postgres);
    await using server = await startServer("service", watchedCommand, { config });
    results.push(await measureInsert(bench, { server, format, bytes: giga }));
  }
  const heads = ["insert", "ms", "MB/s", "growth MB", "longest other request ms", "event loop ms"];
  const cells = results.map(({ name, ...figures }) => [name, ...Object.values(figures).map(shown)]);
  return markdownTable(heads, cells);
}

async function measureInsert(
  bench: Bench,
  { server, format, bytes }: {
    readonly server: BenchServer;
    readonly format: BodyFormat;
    readonly bytes: number;
  },
): Promise<BodyFigures> {
  const name = `${bytes / mega} MB ${format.name}, ${server.name}`;
  await runSql(bench, "truncate api.uploads");
  const base = await memoryOf(server.pid, "VmRSS");
  await resetPeak(server.pid);
  const heldBefore = server.stderr.all.length;
  const others = repeat(async () => {
    const began = performance.now();
    await (await fetch(`${server.origin}/items?id=eq.1`)).text();
    return performance.now() - began;
  }, otherPauseMs);
  const began = performance.now();
  const { sent, answer } = await upload(`${server.origin}/uploads`, { format, bytes });
  if (answer !== "201") throw new Error(`${name}: ${answer}`);
  const total = performance.now() - began;
  const growth = (await memoryOf(server.pid, "VmHWM") - base) / mega;
  const longestOther = await others.stop();
  const held = server.name === "peer" ? NaN : longestHold(server.stderr.all.slice(heldBefore));
  progress(`${name}: ${shown(total)} ms, ${shown(growth)} MB, held ${shown(held)} ms`);
  return { name, total, megabytesPerSecond: sent / 1000 / total, growth, longestOther, held };
}

/** Sends a body in chunks by curl, whose own costs are small; returns its length and the status. */
async function upload(
  url: string,
  { format, bytes }: { readonly format: BodyFormat; readonly bytes: number },
): Promise<{ readonly sent: number; readonly answer: string }> {
  const headers = [`Content-Type: ${format.type}`, "Prefer: return=minimal", "Expect:"];
  const child = new Deno.Command("curl", {
    args: [
      ...["-s", "-X", "POST", "-T", "-", "-o", "/dev/null", "-w", "%{http_code}", url],
      ...headers.flatMap((header) => ["-H", header]),
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  let sent = 0;
  for (const part of partsOf(format, bytes)) {
    sent += part.length;
    await writer.write(part);
  }
  await writer.close();
  return { sent, answer: await new Response(child.stdout).text() };
}

const statement = `insert into api.uploads (id, name, note, price, tags)
  select b.* from json_to_recordset($1::json)
    as b(id int, name text, note text, price numeric, tags text[])`;

/** The statement in one parameter on a connection without a server around it. */
async function measureBare(bench: Bench, bytes: number): Promise<BodyFigures> {
  const name = `${bytes / mega} MB JSON array, bare connection`;
  progress(name);
  await runSql(bench, "truncate api.uploads");
  const body = Buffer.concat([...partsOf(formats[0]!, bytes)]);
  return await withClient(String(serverConfig(bench.postgres)["db-uri"]), async (client) => {
    await client.query("set role web_anon");
    const began = performance.now();
    await client.query(statement, [body]);
    const total = performance.now() - began;
    const megabytesPerSecond = body.length / 1000 / total;
    return { name, total, megabytesPerSecond, growth: NaN, longestOther: NaN, held: NaN };
  });
}
