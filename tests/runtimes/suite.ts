/** What the handler must answer in every runtime: requests and answers as data, and a runner that
 * needs nothing but the Fetch standard. The database holds `shop.sql`, the secret is {@linkcode
 * suiteSecret}. @module */

/** One request and its whole answer. */
export interface Case {
  /** `GET /orders?id=eq.1` */
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
  /** Compared as JSON where the `Content-Type` says JSON, else as text; empty is `undefined`. */
  readonly answer?: unknown;
  /** Headers of the answer; `null` for absent. */
  readonly answerHeaders?: Readonly<Record<string, string | null>>;
  /** Instead of `answer`: the length of the body in bytes. */
  readonly answerLength?: number;
}

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

/** The secret that the tokens of the suite are signed with. */
export const suiteSecret = "reallyreallyreallyreallyverysafe";

/** The key set by URL of the suite; a key of {@linkcode keyToken} and of no other token. */
export const suiteKeys = {
  keys: [{
    kty: "EC",
    crv: "P-256",
    x: "oyW-uyF2G7hYMHJ7msriampTMx_LL8It0hsO_nDTKvg",
    y: "5KHc9BRnW2X7s1xYPndi1PXCs6ZCygX37z6WQHETr1w",
    kid: "suite",
  }],
};

/** The cookie of the suite that may hold a token. */
export const suiteCookie = "__Host-token";

const keyToken =
  "eyJhbGciOiJFUzI1NiIsImtpZCI6InN1aXRlIn0.eyJyb2xlIjoid3JpdGVyIn0.HvyUf1Vc2WVp7dFAP8tNygumqoGLYCkRPIvjLgIYcNxhcrFCLCpi8cM22zB71QJwjHkq-knf-oJ3dJnRacqhHw";
/** The same key signs, but the set has none of this name. */
const otherKeyToken =
  "eyJhbGciOiJFUzI1NiIsImtpZCI6Im90aGVyIn0.eyJyb2xlIjoid3JpdGVyIn0.0WRYbGzNfUcWJTxmXQHQGU1cBd_VEroV8tBUL3cNKjupiW6pMIThGI1sGCx5xX3uLZTmlRFW2Bl8Kl9NR25BbQ";
const writer =
  "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoid3JpdGVyIn0.7lCzPlX2TkOSM60OTdwSqu_7IbV8JZ1A7fMMzBzOZ4o";
const expired =
  "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoid3JpdGVyIiwiZXhwIjoxfQ.Fh61gzrJk1LkMIdHU9OiLJ9y1QRSXZrB2lOjuu5Jzt4";

const json = { "Content-Type": "application/json" };
const form = { "Content-Type": "application/x-www-form-urlencoded" };
const asWriter = { ...json, Authorization: writer };

/** In order: later ones see what earlier ones wrote. */
export const cases: readonly Case[] = [
  // reads
  {
    line: "GET /orders?select=id,total&order=id.desc&limit=2",
    status: 200,
    answer: [{ id: 3, total: 7 }, { id: 2, total: 20 }],
    answerHeaders: { "Content-Range": "0-1/*", "Content-Type": "application/json; charset=utf-8" },
  },
  {
    line: "GET /orders?select=id&or=(id.eq.1,total.lt.8)&order=id",
    headers: { Prefer: "count=exact" },
    status: 200,
    answer: [{ id: 1 }, { id: 3 }],
    answerHeaders: { "Content-Range": "0-1/2" },
  },
  {
    line: "GET /customers?name=eq.B%C3%B6hm",
    headers: { Accept: "application/vnd.svc.object+json" },
    status: 200,
    answer: { id: 2, name: "Böhm" },
  },
  {
    line: "GET /customers?order=id",
    headers: { Accept: "text/csv" },
    status: 200,
    answer: "id,name\n1,Ada\n2,Böhm",
  },
  { line: "HEAD /customers", status: 200, answerHeaders: { "Content-Range": "0-1/*" } },
  // embeds
  {
    line: "GET /customers?select=name,orders(total)&orders.order=total.desc&order=id",
    status: 200,
    answer: [
      { name: "Ada", orders: [{ total: 20 }, { total: 9.5 }] },
      { name: "Böhm", orders: [{ total: 7 }] },
    ],
  },
  {
    line: "GET /orders?select=id,customers(name)&id=eq.3",
    status: 200,
    answer: [{ id: 3, customers: { name: "Böhm" } }],
  },
  // parameters in a body
  {
    line: "QUERY /orders?order=id",
    headers: form,
    body: "select=id&id=in.(1,3)",
    status: 200,
    answer: [{ id: 1 }, { id: 3 }],
    answerHeaders: { Location: "/orders?id=in.%281%2C3%29&order=id&select=id" },
  },
  {
    line: "POST /orders/$query",
    headers: form,
    body: "select=id&id=eq.2",
    status: 200,
    answer: [{ id: 2 }],
    answerHeaders: { "Content-Location": "/orders?id=eq.2&select=id" },
  },
  // calls
  { line: "GET /rpc/add?a=2&b=3", status: 200, answer: 5 },
  { line: "POST /rpc/add", headers: json, body: '{"a":2,"b":-3}', status: 200, answer: -1 },
  // tokens and writes
  {
    line: "POST /customers",
    headers: json,
    body: '{"name":"Eve"}',
    status: 401,
    answer: {
      code: "42501",
      details: null,
      hint: null,
      message: "permission denied for table customers",
    },
  },
  {
    line: "POST /customers?select=name",
    headers: { ...asWriter, Prefer: "return=representation" },
    body: '[{"name":"Cleo"},{"name":"Dan 🙂"}]',
    status: 201,
    answer: [{ name: "Cleo" }, { name: "Dan 🙂" }],
  },
  {
    line: "PATCH /customers?name=eq.Cleo&select=name",
    headers: { ...asWriter, Prefer: "return=representation" },
    body: '{"name":"Cléo"}',
    status: 200,
    answer: [{ name: "Cléo" }],
  },
  {
    line: "PUT /orders?id=eq.4",
    headers: asWriter,
    body: '{"id":4,"customer_id":2,"total":1}',
    status: 204,
  },
  { line: "DELETE /orders?id=eq.4", headers: { Authorization: writer }, status: 204 },
  {
    line: "DELETE /customers?id=gt.2&select=name&order=name",
    headers: { Authorization: writer, Prefer: "return=representation" },
    status: 200,
    answer: [{ name: "Cléo" }, { name: "Dan 🙂" }],
  },
  { line: "GET /customers?select=id&order=id", status: 200, answer: [{ id: 1 }, { id: 2 }] },
  // errors
  {
    line: "GET /customers",
    headers: { Authorization: expired },
    status: 401,
    answer: { code: "SVC301", details: null, hint: null, message: "JWT expired" },
  },
  {
    line: "POST /orders",
    headers: asWriter,
    body: '{"id":9,"customer_id":99,"total":1}',
    status: 409,
    answer: {
      code: "23503",
      details: 'Key (customer_id)=(99) is not present in table "customers".',
      hint: null,
      message:
        'insert or update on table "orders" violates foreign key constraint "orders_customer_id_fkey"',
    },
  },
  {
    line: "POST /rpc/refuse",
    status: 402,
    answer: { code: "PT402", details: null, hint: "In cash", message: "Pay first" },
  },
  {
    line: "GET /nothing/here",
    status: 404,
    answerHeaders: { "Proxy-Status": "SVC; error=SVC125" },
  },
  {
    line: "GET /orders?id=lke.1",
    status: 400,
    answerHeaders: { "Proxy-Status": "SVC; error=SVC100" },
  },
  {
    line: "OPTIONS /orders",
    headers: {
      "Origin": "http://shop.test",
      "Access-Control-Request-Method": "GET",
      "Access-Control-Request-Headers": "Authorization",
    },
    status: 200,
    answerHeaders: { "Access-Control-Allow-Origin": "*" },
  },
  // keys by URL
  {
    line: "GET /rpc/whoami",
    headers: { Authorization: `Bearer ${keyToken}` },
    status: 200,
    answer: "writer",
  },
  {
    line: "GET /rpc/whoami",
    headers: { Authorization: `Bearer ${otherKeyToken}` },
    status: 401,
    answer: {
      code: "SVC301",
      details: "No suitable key was found to decode the JWT",
      hint: null,
      message: "No suitable key or wrong key type",
    },
  },
  // large bodies: 100,000 rows out, 2 MB in
  { line: "GET /numbers?order=n", status: 200, answerLength: 4_488_893 },
  {
    line: "GET /numbers?order=n",
    headers: { "Accept": "application/x-ndjson" },
    status: 200,
    answerLength: 4_188_895,
  },
  {
    line: "POST /rpc/size",
    headers: json,
    body: `{"content":"${"ü".repeat(1_000_000)}"}`,
    status: 200,
    answer: 1_000_000,
  },
  // an insert of 5 MB, which PostgreSQL gets in pieces
  {
    line: "POST /customers",
    headers: { ...asWriter, "Content-Type": "application/x-ndjson", Prefer: "count=exact" },
    body: Array.from({ length: 5000 }, (_, n) => `{"name":"${`${n} `.padEnd(1000, "é")}"}\n`).join(
      "",
    ),
    status: 201,
    answerHeaders: { "Content-Range": "*/5000" },
  },
  {
    line: "DELETE /customers?id=gt.2",
    headers: { Authorization: writer, Prefer: "count=exact" },
    status: 204,
    answerHeaders: { "Content-Range": "*/5000" },
  },
];

const cookie = { Cookie: `theme=dark; ${suiteCookie}=${keyToken}` };

/** Policies of the suite, where the runner is not in the page. */
export const suiteRateLimits = "limited: 2/1d by ip on /rpc/limited";

/** Header of the suite that identifies requests. */
export const suiteRequestIdHeader = "X-Request-Id";
/** Health path of the suite. */
export const suiteHealthPath = "/-/health";

/** Where requests may have cookies, and the handler has the options of a server. */
const serverCases: readonly Case[] = [
  {
    line: "GET /customers?id=eq.1&select=id",
    headers: { [suiteRequestIdHeader]: "suite:1" },
    status: 200,
    answer: [{ id: 1 }],
    answerHeaders: { [suiteRequestIdHeader]: "suite:1", "X-Content-Type-Options": "nosniff" },
  },
  {
    line: "GET /nothing",
    headers: { [suiteRequestIdHeader]: "suite:2" },
    status: 404,
    answerHeaders: { [suiteRequestIdHeader]: "suite:2", "X-Content-Type-Options": "nosniff" },
  },
  { line: `GET ${suiteHealthPath}`, status: 200, answerHeaders: { "Cache-Control": "no-store" } },
  { line: `GET ${suiteHealthPath}/live`, status: 200 },
  { line: `POST ${suiteHealthPath}`, status: 405, answerHeaders: { Allow: "GET, HEAD" } },
  {
    line: "GET /rpc/limited",
    status: 404,
    answerHeaders: { "RateLimit": '"limited";r=1;t=43200' },
  },
  {
    line: "GET /rpc/%6Cimited",
    status: 404,
    answerHeaders: { "RateLimit": '"limited";r=0;t=43200' },
  },
  {
    line: "GET /rpc/limited",
    status: 429,
    answer: {
      code: "SVC136",
      details: "Policy limited allows 2 requests in 86400 seconds",
      hint: null,
      message: "Too many requests",
    },
  },
  {
    line: "GET /rpc/whoami",
    headers: cookie,
    status: 200,
    answer: "writer",
    answerHeaders: {
      "Cache-Control": "private",
      "Vary": "Accept, Prefer, Range, Accept-Encoding, Cookie",
    },
  },
  {
    line: "POST /rpc/whoami",
    headers: { ...cookie, "Sec-Fetch-Site": "same-origin" },
    status: 200,
    answer: "writer",
  },
  {
    line: "POST /rpc/whoami",
    headers: { ...cookie, "Sec-Fetch-Site": "cross-site" },
    status: 403,
    answerHeaders: { "Proxy-Status": "SVC; error=SVC313" },
  },
  {
    line: "POST /rpc/whoami",
    headers: { ...cookie, Origin: "https://evil.test" },
    status: 403,
    answerHeaders: { "Proxy-Status": "SVC; error=SVC313" },
  },
];

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
