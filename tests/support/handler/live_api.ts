/** A service with live queries over the fixture `live`, and its database. @module */
import type { Handler } from "../../../mod.ts";
import pg from "pg";
import { LiveStream } from "../clients/live_client.ts";
import { type Engine, engines } from "../database/engines.ts";
import type { Fixture } from "../database/fixture.ts";
import { type PostgresClient, withClient } from "../database/postgres_client.ts";
import { type ApiConfig, openHandler } from "./api.ts";
import { buildRequest, type RequestParts } from "./request.ts";

export interface LiveApi extends AsyncDisposable {
  readonly handler: Handler;
  /** Executes SQL as a superuser. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Connects as a superuser. */
  connect(): Promise<Writer>;
  send(line: string, parts?: RequestParts): Promise<Response>;
  /** Opens a stream as an EventSource does. */
  stream(path: string, parts?: RequestParts): Promise<LiveStream>;
  /** Opens a further service with the same database. */
  open(config?: Partial<ApiConfig>): Promise<LiveApi>;
}

const fixture: Fixture = { name: "live", roles: ["anon", "writer"] };
const liveConfig = {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbAggregatesEnabled: true,
  livePath: "/live",
  liveInterval: 0.01,
} as const;

/** A connection of a superuser. */
export interface Writer extends PostgresClient, AsyncDisposable {}

interface LiveApiConfig extends Partial<ApiConfig> {
  /** Default: `pg`. */
  readonly engine?: Engine;
}

/** Opens a service with a separate database. */
export async function openLiveApi(
  { engine = "pg", ...config }: LiveApiConfig = {},
): Promise<LiveApi> {
  const database = await engines[engine](fixture);
  const { superuserUri } = database;
  // Between two polls of PGlite, which has no socket, only timers wait that keep no process alive.
  const alive = setInterval(() => {}, 1000);
  const api = await openService(database.uri, superuserUri, config);
  return {
    ...api,
    async [Symbol.asyncDispose]() {
      await api.handler.close();
      await database.remove();
      clearInterval(alive);
    },
  };
}

/** PGlite has one session: its SQL goes through a function of the API. */
async function openService(
  dbUri: string,
  superuserUri: string | null,
  config: Partial<ApiConfig>,
): Promise<LiveApi> {
  const { handler } = openHandler({ ...liveConfig, ...config, dbUri });
  await handler.ready();
  const origin = "http://localhost:3000";
  const send = async (line: string, parts: RequestParts = {}) =>
    await handler(await buildRequest({ line, origin }, parts));
  const sqlByFunction = async (text: string) => {
    const response = await send("POST /rpc/run", { as: { role: "postgres" }, body: { text } });
    if (!response.ok) throw new Error(await response.text());
    await response.body?.cancel();
    return [];
  };
  const withSuperuser = <Result>(use: (client: PostgresClient) => Promise<Result>) =>
    withClient(superuserUri!, use);
  return {
    handler,
    sql: superuserUri === null
      ? sqlByFunction
      : (text) => withSuperuser(async (client) => (await client.query(text)).rows),
    send,
    async connect() {
      const client = new pg.Client({ connectionString: superuserUri! });
      await client.connect();
      return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
    },
    async stream(path, parts = {}) {
      const headers = { ...parts.headers, Accept: "text/event-stream" };
      return new LiveStream(await send(`GET ${path}`, { ...parts, headers }));
    },
    open: (other = {}) => openService(dbUri, superuserUri, { ...config, ...other }),
    [Symbol.asyncDispose]: () => handler.close(),
  };
}
