/**
 * Tests of features: requests to the fetch handler, over a fixture, on every engine.
 *
 * ```ts ignore
 * const suite = apiSuite("tools", { dbSchemas: ["api"], dbAnonRole: "anon" });
 *
 * suite.test("or= selects rows that match either branch", async (api) => {
 *   const response = await api("GET /entities?or=(id.eq.1,id.eq.2)&select=id");
 *   strictEqual(response.status, 200);
 *   deepStrictEqual(await response.json(), [{ id: 1 }, { id: 2 }]);
 * });
 *
 * suite.rows("order= sorts", [
 *   ["GET /entities?order=id.desc&limit=1&select=id", {}, 200, [{ id: 9 }]],
 *   ["POST /entities", { as: "writer", body: { id: 10 } }, 201, undefined, { Location: null }],
 * ]);
 *
 * suite.answers("order= sorts", { as: "writer" })`
 *   GET /entities?order=id.desc&limit=1&select=id | 200 [{"id":9}]
 *   POST /entities
 *     Prefer: return=minimal
 *     with {"id":10}
 *     201
 *     no Location
 * `;
 * ```
 *
 * Nothing that a request writes stays, unless the suite says `dbTxEnd: "commit"`. A suite is one test
 * with a step per row, and the sanitizers look at it as a whole: connections stay open between steps.
 * `deno task test --row <text>` runs the steps whose name contains the text.
 *
 * What only reads is asked of a second handler as well, which commits: its transactions are
 * different ones.
 *
 * @module
 */
import { deepStrictEqual } from "node:assert/strict";
import { createHandler, type Handler, type Observation } from "../../../mod.ts";
import { type Engine, engines } from "../database/engines.ts";
import type { Fixture } from "../database/fixture.ts";
import { buffered, buildRequest, type RequestParts } from "./request.ts";
import { answers, type Row } from "./rows.ts";
import { isChosen } from "../runner/row_filter.ts";
import { testSecret } from "./token.ts";

/** Configuration of the handler under test. */
export type ApiConfig = Omit<Parameters<typeof createHandler>[0], "dbUri">;

/** Sends a request to the handler and reads the answer to its end. */
export interface Api {
  (line: string, parts?: RequestParts): Promise<Response>;
  readonly engine: Engine;
  /** For what is no such request: streams, reloads. */
  readonly handler: Handler;
  /** The same of a handler that commits; null if the suite reads no rows, or commits already. */
  readonly committing: Api | null;
}

/** In addition to the configuration. */
export interface SuiteOptions {
  /** Distinguishes suites over the same fixture; the fixture's name unless told. */
  readonly title?: string;
  /** All unless told: for what one engine cannot do. */
  readonly engines?: readonly Engine[];
  /** Roles that exist before the fixture's SQL runs; `anon` and `writer` unless told. */
  readonly roles?: readonly string[];
  /** Extensions that PGlite loads. Default: none. */
  readonly pgliteExtensions?: Fixture["pgliteExtensions"];
  /** The reason why the suite cannot run, which its name then shows. Default: it runs. */
  readonly skipped?: string | null;
}

export interface ApiSuite {
  /** Adds a test that asks as many requests as it needs. */
  test(name: string, run: (api: Api) => Promise<void>): void;
  /** Adds a test for each row. */
  rows(name: string, rows: readonly Row[]): void;
  /** Adds the rows of a text: {@linkcode answers}. */
  answers(name: string, parts?: RequestParts): (table: TemplateStringsArray) => void;
}

interface Step {
  readonly name: string;
  /** Whether its request is sent to the second handler as well. */
  readonly reads: boolean;
  readonly run: (api: Api) => Promise<void>;
}

/** What a handler reports when it, or what it needs, is broken. */
const failureKinds: ReadonlySet<Observation["kind"]> = new Set([
  "connect-failed",
  "database-config-failed",
  "schema-cache-failed",
  "unexpected-error",
]);

/** What requests are sent to; nothing listens there. */
const origin = "http://localhost:3000";

/** Rows of a suite with what they need, for runs with other configurations. */
export interface DeclaredSuite {
  readonly fixture: Fixture;
  readonly config: ApiConfig;
  readonly rows: Row[];
}

/** The suites on PostgreSQL of all modules that were imported. */
export const declaredSuites: DeclaredSuite[] = [];

/** Registers a test per engine, whose steps are added afterwards. `fixture`: see {@linkcode Fixture}. */
export function apiSuite(fixture: string, config: ApiConfig, options: SuiteOptions = {}): ApiSuite {
  const steps: Step[] = [];
  const { roles = ["anon", "writer"], pgliteExtensions = {}, skipped = null } = options;
  const filled: Fixture = { name: fixture, roles, pgliteExtensions };
  const declared: DeclaredSuite = { fixture: filled, config, rows: [] };
  const usesPostgres = options.engines?.includes("pg") ?? true;
  if (skipped === null && usesPostgres) declaredSuites.push(declared);
  const reason = skipped === null ? "" : ` (${skipped})`;
  for (const engine of options.engines ?? (Object.keys(engines) as Engine[])) {
    const name = `[${engine}] ${options.title ?? fixture}${reason}`;
    Deno.test(name, { ignore: skipped !== null }, async (context) => {
      const chosen = steps.filter(({ name }) => isChosen(name));
      if (chosen.length === 0) return;
      const isTwice = engine === "pg" && chosen.some(({ reads }) => reads);
      await using api = await openApi(engine, filled, { config, isTwice });
      for (const step of chosen) await runStep(context, step, api.send);
    });
  }
  const addRows = (name: string, rows: readonly Row[]) => {
    declared.rows.push(...rows);
    steps.push(...rows.map((row) => ({
      name: `${name}: ${row[0]}`,
      reads: isRead(row),
      run: (api: Api) => checkRow(api, row, config.dbTxEnd?.startsWith("commit") ?? false),
    })));
  };
  return {
    test: (name, run) => void steps.push({ name, reads: false, run }),
    rows: addRows,
    answers: (name, parts) => (table) => addRows(name, answers(parts)(table)),
  };
}

/**
 * Registers a suite on PostgreSQL alone: engines make no difference to it, or the embedded one lacks
 * what it needs.
 */
export function serviceSuite(
  fixture: string,
  config: ApiConfig,
  options: Omit<SuiteOptions, "engines"> = {},
): ApiSuite {
  return apiSuite(fixture, config, { ...options, engines: ["pg"] });
}

async function runStep(context: Deno.TestContext, { name, run }: Step, api: Api): Promise<void> {
  const fn = () => run(api);
  await context.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

interface OpenApi extends AsyncDisposable {
  readonly send: Api;
}

async function openApi(
  engine: Engine,
  fixture: Fixture,
  { config, isTwice }: { readonly config: ApiConfig; readonly isTwice: boolean },
): Promise<OpenApi> {
  await using parts = new AsyncDisposableStack();
  const database = await engines[engine](fixture);
  parts.defer(() => database.remove());
  const open = async (dbTxEnd: ApiConfig["dbTxEnd"], committing: Api | null) => {
    const embedded = engine === "pglite"
      // The engine starts in a second, and takes longer on a busy machine.
      ? { embeddedExtensions: fixture.pgliteExtensions ?? {}, dbPoolAcquisitionTimeout: 60 }
      : {};
    const { handler, failures } = openHandler({
      dbTxEnd,
      ...embedded,
      ...config,
      dbUri: database.uri,
    });
    parts.defer(() => handler.close());
    await handler.ready();
    if (failures.length > 0) throw new Error("the handler is not ready", { cause: failures[0] });
    const send = async (line: string, request: RequestParts = {}) => {
      const response = await buffered(await handler(await buildRequest({ line, origin }, request)));
      for (const failure of failures.splice(0)) console.error(line, failure);
      return response;
    };
    return Object.assign(send, { engine, handler, committing });
  };
  const commits = isTwice && config.dbTxEnd === undefined;
  const send = await open("rollback", commits ? await open("commit", null) : null);
  const opened = parts.move();
  return { send, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Opens a handler that collects reports of failures. */
export function openHandler(config: Parameters<typeof createHandler>[0]) {
  const failures: Observation[] = [];
  const handler = createHandler({
    jwtSecret: testSecret,
    ...config,
    observe(event) {
      if (failureKinds.has(event.kind)) failures.push(event);
      config.observe?.(event);
    },
  });
  return { handler, failures };
}

/**
 * Requests that change nothing are sent three times: the first is planned, the second learnt, and the
 * third is answered from what was learnt.
 */
async function checkRow(api: Api, row: Row, changes: boolean): Promise<void> {
  const reads = isRead(row);
  const times = changes && !reads ? 1 : 3;
  for (let time = 0; time < times; time++) await checkOnce(api, row);
  if (!reads || api.committing === null) return;
  for (let time = 0; time < 3; time++) await checkOnce(api.committing, row);
}

function isRead([line]: Row): boolean {
  return /^(GET|HEAD|QUERY) /.test(line);
}

/** Sends the request of a row and compares the answer. */
export async function checkOnce(
  api: (line: string, parts?: RequestParts) => Promise<Response>,
  [line, parts, status, body, headers]: Row,
): Promise<void> {
  const response = await api(line, parts);
  const names = Object.keys(headers ?? {});
  const answer = {
    status: response.status,
    headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name)])),
    body: await readBody(response),
  };
  deepStrictEqual(answer, { status, headers: { ...headers }, body });
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return undefined;
  const isJson = /^application\/([\w.-]+\+)?json\b/.test(
    response.headers.get("Content-Type") ?? "",
  );
  return isJson ? JSON.parse(text) : text;
}
