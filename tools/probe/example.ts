/**
 * Tries the requests of the example todo list, in schemas and with roles of its own.
 *
 * @module
 */
import { createHandler, type Handler } from "../../mod.ts";
import { signToken } from "../../src/auth/sign_token.ts";
import { isEmbedded, openSqlSession } from "../../src/database/open.ts";
import { svcDialect } from "../../src/dialect.ts";

/** Result of the example. */
export interface ExampleReport {
  readonly results: readonly ExampleResult[];
  /** Parts of the schema cache that the server cannot show. */
  readonly missingParts: readonly string[];
}

/** One request. */
export interface ExampleResult {
  readonly line: string;
  /** Null if the request has passed. */
  readonly problem: string | null;
}

/** Names in the SQL of the example, and those that the probe uses. */
const names: ReadonlyMap<string, string> = new Map([
  ["api", "svc_probe_api"],
  ["app", "svc_probe_app"],
  ["web_anon", "svc_probe_anon"],
  ["todo_user", "svc_probe_user"],
]);

const makes = "grant svc_probe_anon, svc_probe_user to current_user;";
const drops = `
  drop schema if exists svc_probe_api cascade;
  drop schema if exists svc_probe_app cascade;
  drop role if exists svc_probe_anon;
  drop role if exists svc_probe_user;
`;

/** Makes the example, tries its requests, and drops it. Rejects if it cannot be made. */
export async function tryExample(uri: string): Promise<ExampleReport> {
  const file = new URL("../../examples/todos/todos.sql", import.meta.url);
  const text = `${renamed(await Deno.readTextFile(file))}\n${makes}`;
  if (isEmbedded(uri)) return await tryRequests(uri, text);
  await runScript(uri, drops);
  try {
    await runScript(uri, text);
    return await tryRequests(uri, null);
  } finally {
    await runScript(uri, drops);
  }
}

function renamed(text: string): string {
  return text.replace(/\b(?:api|app|web_anon|todo_user)\b/g, (name) => names.get(name)!);
}

async function runScript(uri: string, text: string): Promise<void> {
  const { session, close } = await openSqlSession({
    dbUri: uri,
    dbPool: 1,
    dbPoolAcquisitionTimeout: 10,
    dbPoolMaxIdletime: 30,
    dbPoolMaxLifetime: 1800,
    dbPreparedStatements: false,
    dialect: svcDialect,
  }, { embeddedInit: null, applicationName: "svc probe" });
  try {
    const { failure } = await session.run(text);
    if (failure === null) return;
    throw new Error(
      `The example cannot be made or dropped: ${failure.message}. Connect as a user that may create ` +
        "schemas and roles.",
    );
  } finally {
    await close();
  }
}

interface ExampleRequest {
  readonly line: string;
  /** Whether the request has a token. */
  readonly isUser?: boolean;
  readonly body?: unknown;
  readonly status: number;
  /** JSON text of the body. Default: any. */
  readonly json?: string;
}

const requests: readonly ExampleRequest[] = [
  {
    line: "GET /todos?id=eq.3&select=id,task",
    status: 200,
    json: '[{"id":3,"task":"renew passport"}]',
  },
  { line: "GET /todos?done=is.false&select=id&order=due.asc.nullslast,id", status: 200 },
  { line: "GET /todos?select=task&limit=1&order=id.desc", isUser: true, status: 200 },
  { line: "GET /rpc/remaining?owner=ada", status: 200, json: "2" },
  { line: "POST /rpc/remaining", body: { owner: "grace" }, status: 200, json: "1" },
  { line: "POST /todos", body: { task: "sneak in" }, status: 401 },
  {
    line: "POST /todos?select=done,task,owner",
    isUser: true,
    body: { task: "learn SQL" },
    status: 201,
    json: '[{"done":false,"task":"learn SQL","owner":"ada"}]',
  },
  { line: "POST /todos", isUser: true, body: { task: "blame", owner: "grace" }, status: 403 },
  {
    line: "PATCH /todos?id=eq.2&select=id,done",
    isUser: true,
    body: { done: true },
    status: 200,
    json: '[{"id":2,"done":true}]',
  },
  { line: "PATCH /todos?id=eq.4", isUser: true, body: { done: true }, status: 200, json: "[]" },
  { line: "DELETE /todos?id=eq.1&select=id", isUser: true, status: 200, json: '[{"id":1}]' },
  { line: "GET /todos?id=eq.1", status: 200, json: "[]" },
];

async function tryRequests(uri: string, init: string | null): Promise<ExampleReport> {
  const missingParts = new Set<string>();
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const handler = createHandler({
    dbUri: uri,
    dbSchemas: ["svc_probe_api"],
    dbAnonRole: "svc_probe_anon",
    dbConfig: false,
    dbChannelEnabled: false,
    dbPool: 2,
    dbPreparedStatements: "auto",
    jwtSecret: secret,
    observe: (event) => {
      if (event.kind === "catalogue-incomplete") missingParts.add(event.part);
    },
    ...(init === null ? {} : { embeddedInit: init }),
  });
  try {
    const token = await signToken({ role: "svc_probe_user", sub: "ada" }, secret);
    const results: ExampleResult[] = [];
    for (const request of requests) {
      const { line } = request;
      results.push({ line, problem: await problemOf(handler, request, token) });
    }
    return { results, missingParts: [...missingParts] };
  } finally {
    await handler.close();
  }
}

/** Sends a request. Resolves with the difference to what is expected; null without one. */
async function problemOf(
  handler: Handler,
  { line, isUser = false, body, status, json }: ExampleRequest,
  token: string,
): Promise<string | null> {
  const [method, target] = line.split(" ");
  const response = await handler(
    new Request(`http://localhost${target}`, {
      method: method!,
      headers: {
        "Prefer": "return=representation",
        ...(isUser ? { "Authorization": `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    }),
  );
  const text = await response.text();
  if (response.status !== status) return `expected ${status}, got ${response.status} ${text}`;
  if (json === undefined || sameJson(text, json)) return null;
  return `expected ${json}, got ${text}`;
}

/** Engines without `json` may change the order of members and the spaces between them. */
function sameJson(one: string, other: string): boolean {
  return canonical(one) === canonical(other);
}

function canonical(text: string): string {
  return JSON.stringify(JSON.parse(text), (_, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
  });
}
