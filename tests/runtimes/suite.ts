/** Runs the cases in every runtime, with nothing but the Fetch standard. The database holds `shop.sql`.
 * @module */
import { type Case, cases, keyToken, serverCases } from "./cases.ts";

/** How the suite went. */
export interface Report {
  readonly passed: number;
  /** One line each. */
  readonly failed: readonly string[];
  /** Names of what could not be tried. */
  readonly skipped: readonly string[];
}

/** Takes a request to the handler: `fetch`, or the handler itself. */
export type Send = (request: Request) => Promise<Response>;

/** What the runner needs to know of the place where it runs. */
export interface SuiteOptions {
  /** Goes before the paths: `http://127.0.0.1:3000/api`. */
  readonly base: string;
  /** False where PostgreSQL runs in the process: a statement that runs cannot be stopped there. */
  readonly cancels: boolean;
  /** False in a browser, where pages cannot set the `Cookie` header. */
  readonly sendsCookies: boolean;
}

/** Sends every request and compares the answers. Never rejects. */
export async function runSuite(
  send: Send,
  { base, cancels, sendsCookies }: SuiteOptions,
): Promise<Report> {
  const failed: string[] = [];
  const check = async (name: string, problemOf: () => Promise<string | null>) => {
    const problem = await problemOf().catch((error) => `${error?.stack ?? error}`);
    if (problem !== null) failed.push(`${name}: ${problem}`);
  };
  await check(firstKeys, () => firstKeysProblem(send, base));
  const rows = sendsCookies ? [...cases, ...serverCases] : cases;
  for (const row of rows) await check(row.line, () => problemOf(send, base, row));
  await check(concurrency, () => concurrencyProblem(send, base));
  await check(departure, () => departureProblem(send, base));
  if (cancels) await check(cancellation, () => cancellationProblem(send, base));
  if (sendsCookies) await check(compression, () => compressionProblem(send, base));
  const total = rows.length + 3 + (cancels ? 1 : 0) + (sendsCookies ? 1 : 0);
  const skipped = [
    ...(cancels ? [] : [cancellation]),
    ...(sendsCookies ? [] : ["cookies, limits, compression"]),
  ];
  return { passed: total - failed.length, failed, skipped };
}

async function problemOf(send: Send, base: string, row: Case): Promise<string | null> {
  const response = await send(requestOf(base, row));
  const bytes = new Uint8Array(await response.arrayBuffer());
  const names = Object.keys(row.answerHeaders ?? {});
  const isLong = row.answerLength !== undefined;
  const given = {
    status: response.status,
    headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name)])),
    ...(isLong ? { length: bytes.length } : {}),
    ...("answer" in row || row.status < 400 && !isLong
      ? { body: bodyOf(response, bytes) ?? null }
      : {}),
  };
  const wanted = {
    status: row.status,
    headers: { ...row.answerHeaders },
    ...(isLong ? { length: row.answerLength } : {}),
    ...("answer" in row || row.status < 400 && !isLong ? { body: row.answer ?? null } : {}),
  };
  return difference(wanted, given);
}

function requestOf(base: string, { line, headers = {}, body }: Case): Request {
  const [method = "", path = ""] = line.split(" ");
  return new Request(base + path, { method, headers, ...(body === undefined ? {} : { body }) });
}

function bodyOf(response: Response, bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const text = new TextDecoder().decode(bytes);
  return /^application\/([\w.-]+\+)?json\b/.test(response.headers.get("Content-Type") ?? "")
    ? JSON.parse(text)
    : text;
}

function difference(wanted: unknown, given: unknown): string | null {
  const [a, b] = [JSON.stringify(wanted), JSON.stringify(given)];
  return a === b ? null : `expected ${a}, got ${b}`;
}

const firstKeys = "20 first requests that need the same keys";

/** In Workers, none of them may wait for the I/O of another one. */
async function firstKeysProblem(send: Send, base: string): Promise<string | null> {
  const headers = { Authorization: `Bearer ${keyToken}` };
  const ask = async () => {
    const response = await send(new Request(`${base}/rpc/whoami`, { headers }));
    return await response.json();
  };
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  return difference(answers.map(() => "writer"), answers);
}

const concurrency = "20 requests at once";

async function concurrencyProblem(send: Send, base: string): Promise<string | null> {
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  const answers = await Promise.all(numbers.map(async (n) => {
    const response = await send(new Request(`${base}/rpc/add?a=${n}&b=1`));
    return await response.json();
  }));
  return difference(numbers.map((n) => n + 1), answers);
}

const departure = "clients that leave long answers keep no connection";

/** More clients than a pool has connections. */
async function departureProblem(send: Send, base: string): Promise<string | null> {
  const leave = async () => {
    const response = await send(new Request(`${base}/numbers?order=n`));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    return response.status;
  };
  const clients = Array.from({ length: 20 }, leave);
  const statuses = await Promise.all(clients);
  return difference(statuses.map(() => 200), statuses) ?? await concurrencyProblem(send, base);
}

const compression = "long answers shrink by gzip";

/** `fetch` decodes the body itself. */
async function compressionProblem(send: Send, base: string): Promise<string | null> {
  const headers = { "Accept-Encoding": "gzip" };
  const response = await send(new Request(`${base}/numbers?order=n`, { headers }));
  const isVaried = response.headers.get("Vary")?.includes("Accept-Encoding") ?? false;
  // Only an answer of unknown length is a stream that is encoded on its way.
  const isWhole = response.headers.has("Content-Length");
  const { length } = new Uint8Array(await response.arrayBuffer());
  return difference([4_488_893, true, false], [length, isVaried, isWhole]);
}

const cancellation = "a client that leaves ends its query";

/** Milliseconds after which a query does not begin or end any more, on the busiest machine. */
const giveUpAfter = 30_000;

/** The query would run for ten minutes. */
async function cancellationProblem(send: Send, base: string): Promise<string | null> {
  const controller = new AbortController();
  const request = new Request(`${base}/rpc/wait?seconds=600`, { signal: controller.signal });
  const left = send(request).then((response) => response.text()).then(
    () => "answered",
    () => "left",
  );
  const waiting = async () => await (await send(new Request(`${base}/rpc/waiting`))).json();
  if (await until(waiting, 1) !== 1) return "the query did not begin";
  controller.abort();
  const rest = await until(waiting, 0);
  await left;
  return rest === 0 ? null : `${rest} queries run on`;
}

/** Asks again until the answer is the wanted one or the time is over; gives the last answer. */
async function until(ask: () => Promise<number>, wanted: number): Promise<number> {
  const end = Date.now() + giveUpAfter;
  let answer = await ask();
  while (answer !== wanted && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer = await ask();
  }
  return answer;
}
