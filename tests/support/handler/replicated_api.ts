/** A handler whose database claims to have standbys, and records how it is asked to use them.
 * @module */
import { configSource } from "../../../src/state/config/source.ts";
import { noValues } from "../../../src/state/config/load.ts";
import type { Transaction, TransactionResult } from "../../../src/database/transaction.ts";
import type { Caller, Database, Standbys } from "../../../src/database/database.ts";
import { openDatabase } from "../../../src/database/open.ts";
import { mcpWing } from "../../../src/wings/mcp/mcp_host.ts";
import { serviceHandler } from "../../../src/api/handler/handler.ts";
import type { Observation } from "../../../src/base/observe/observation.ts";
import { AppState } from "../../../src/state/app_state/app_state.ts";
import { engines } from "../database/engines.ts";
import type { Fixture } from "../database/fixture.ts";
import { buffered, buildRequest, type RequestParts } from "./request.ts";
import { testSecret } from "./token.ts";
import { wingOptions } from "../../../src/process/wings.ts";

/** How a batch may use replicas. */
export type ReplicaUse = Pick<Transaction, "access" | "wantsBookmark"> & {
  readonly standby?: unknown;
};

/** The bookmark of each result that wants one. */
export const newBookmark = "1-0000000004987158";

/** A handler, and what its requests asked of the database. */
export interface ReplicatedApi extends AsyncDisposable {
  readonly handler: (request: Request) => Promise<Response>;
  readonly send: (line: string, parts?: RequestParts) => Promise<Response>;
  /** Transactions of the requests since the last call, without transactions of svc itself. */
  readonly take: () => readonly ReplicaUse[];
  readonly service: AppState;
  /** Events of the service, in order. */
  readonly events: readonly Observation[];
  /** Moves the clock of the service, in milliseconds. */
  readonly wait: (milliseconds: number) => void;
}

/** What the handler is made of. */
export interface ReplicatedParts {
  readonly fixture: Fixture;
  /** Lines of a configuration file. */
  readonly config: string;
  /** Default: true. */
  readonly hasStandbys?: boolean;
}

/** Opens a handler over a new database. */
export async function openReplicated(
  { fixture, config, hasStandbys = true }: ReplicatedParts,
): Promise<ReplicatedApi> {
  await using parts = new AsyncDisposableStack();
  const made = await engines.pg(fixture);
  parts.defer(() => made.remove());
  const source = configSource({
    wingOptions,
    file: {
      path: "svc.conf",
      text: `db-uri = "${made.uri}"\njwt-secret = "${testSecret}"\n${config}`,
    },
    environment: {},
    readFile: Deno.readFileSync,
  });
  const opened = await openDatabase(source.configure(noValues), {
    embeddedInit: null,
    applicationName: "test",
  });
  const uses: ReplicaUse[] = [];
  const events: Observation[] = [];
  let now = Date.now();
  const service = await AppState.create({
    source: () => source,
    database: hasStandbys ? recordingDatabase(opened, uses) : opened,
    now: () => now,
    observe: (event) => void events.push(event),
  });
  parts.defer(() => service.close());
  await service.reloadSchema();
  uses.length = 0;
  const handler = serviceHandler(service, "shared", [mcpWing()]);
  const send = async (line: string, request: RequestParts = {}) =>
    await buffered(await handler(await buildRequest({ line, origin: "http://svc.test" }, request)));
  const owned = parts.move();
  return {
    handler,
    send,
    service,
    events,
    take: () => uses.splice(0),
    wait: (milliseconds) => void (now += milliseconds),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Wraps a database, which executes all batches itself. */
function recordingDatabase(database: Database, uses: ReplicaUse[]): Database {
  const transaction = async (
    transaction: Transaction,
    caller?: Caller,
  ): Promise<TransactionResult> => {
    const { wantsBookmark, standby, ...plain } = transaction as Transaction & ReplicaUse;
    const { access } = transaction;
    // svc's transactions begin with `reset role`.
    if (transaction.statements[0]?.text !== "reset role") {
      uses.push({
        access,
        ...(wantsBookmark === undefined ? {} : { wantsBookmark }),
        ...(standby === undefined ? {} : { standby }),
      });
    }
    const result = await database.transaction(plain as Transaction, caller);
    if (wantsBookmark !== true) return result;
    const { open } = result;
    if (open === undefined) return { ...result, bookmark: newBookmark };
    const end: typeof open.end = async (...parts) => {
      const ended = await open.end(...parts);
      return ended.end === "commit" ? { ...ended, bookmark: newBookmark } : ended;
    };
    return { ...result, open: { send: (sent) => open.send(sent), end } };
  };
  return new Proxy(database, {
    get(target, name) {
      if (name === "standbys") return idleStandbys;
      if (name === "transaction") return transaction;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const idleStandbys: Standbys = {
  observe: () => {},
  isServing: false,
  counts: () => ({ standbys: [], fallbacks: new Map(), retries: new Map() }),
};

/** The fixture of requests that may use standbys. */
export const fixture = { name: "replicas", roles: ["anon", "writer"] };

/** Lines of a configuration file for it. */
export const base = `
  db-schemas = "api"
  db-anon-role = "anon"
  db-comment-tags = true
  db-plan-enabled = true
  db-tx-end = "commit-allow-override"
  server-query-method = true
  batch-max-operations = 10
  idempotency-table = "svc.idempotency_keys"
  etag-mode = "on"
  mcp-path = "/mcp"
  mcp-write = "parts"
`;

/** Returns the parts of a request with preferences. */
export const prefer = (value: string, parts: RequestParts = {}): RequestParts => ({
  ...parts,
  headers: { ...parts.headers, Prefer: value },
});

/** Returns the parts of a request with a bookmark. */
export const marked = (value: string, name = "Svc-Bookmark"): RequestParts => ({
  headers: { [name]: value },
});
/** A bookmark of a client. */
export const sent = "1-0000000004980000";

/** Returns the document of a batch. */
export const requests = (
  ...all: readonly (readonly [method: string, url: string, body?: unknown])[]
) => ({ requests: all.map(([method, url, body]) => ({ method, url, body })) });
