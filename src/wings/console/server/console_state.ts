/** The state of the service that the console shows. @module */
import type { Config } from "../../../state/config/options.ts";
import { metadataTransaction } from "../../../database/transaction.ts";
import type { Database } from "../../../database/database.ts";
import { versionNumber } from "../../../database/server_version.ts";
import { addressOf } from "../../../api/response/openapi/about.ts";
import { version } from "../../../base/version.ts";
import type { HandlerState } from "../../../state/app_state/handler_state.ts";
import type { ConsoleOptions } from "../../../api/wing.ts";
import { type Recorder, slowRequestMs } from "./recorder.ts";

/** Dependencies of the state other than the service. */
export interface StateParts extends Pick<ConsoleOptions, "isLive"> {
  readonly recorder: Recorder;
  /** Returns the resident memory in bytes; null if the runtime does not report it. */
  readonly memory: () => number | null;
}

/** Answer of `/console/state`. */
export type ConsoleState = Awaited<ReturnType<typeof consoleState>>;

/** Resolves with the state, also if the database is unreachable. */
export async function consoleState(
  appState: HandlerState,
  { recorder, memory, isLive }: StateParts,
  request: Request,
) {
  const { dialect, database, now, snapshot: { config, serverVersion } } = appState;
  const ready = await appState.isReady();
  return {
    version,
    dialect: dialect.name,
    name: dialect.displayName,
    api: {
      url: apiUrl(config, request),
      schemas: config.dbSchemas,
      live: isLive(),
      /** Null if requests without a token are rejected. */
      anonRole: config.dbAnonRole,
    },
    database: {
      ready,
      version: serverVersion === null ? null : versionNumber(serverVersion),
      standby: ready ? await isStandby(database) : null,
    },
    schemaCache: recorder.schemaCache,
    /** Seconds since the start. */
    uptime: Math.round((now() - recorder.startedAt) / 1000),
    /** Bytes; null if the runtime does not report it. */
    rss: memory(),
    features: features(config),
  };
}

/** Returns the options on which the console's controls depend. */
function features(config: Config) {
  return {
    planType: config.dbPlanEnabled ? `application/vnd.${config.dialect.vendor}.plan+json` : null,
    readOnly: config.dbReadOnly,
    aggregates: config.dbAggregatesEnabled,
    signIn: config.adminSignIn && config.jwtSecret !== null,
    tags: config.etagMode,
    openapiMode: config.openapiMode,
    logQuery: config.logQuery,
    slowMs: slowRequestMs,
  };
}

/** Returns the base URL of the API: the URL of a configured proxy, or one with the console's host. */
function apiUrl(config: Config, request: Request): string {
  if (config.openapiServerProxyUri !== null) {
    const { scheme, host, basePath } = addressOf(config);
    return `${scheme}://${host}${basePath}`.replace(/\/$/, "");
  }
  const prefix = config.serverPathPrefix ?? "";
  return `http://${new URL(request.url).hostname}:${config.serverPort}${prefix}`;
}

const standbyQuery = "select pg_catalog.pg_is_in_recovery()::text";

/** Resolves with whether the server is a standby; null if the database fails. */
async function isStandby(database: Pick<Database, "transaction">): Promise<boolean | null> {
  const transaction = metadataTransaction([{ text: standbyQuery, params: [], use: "rows" }]);
  try {
    const { rows } = await database.transaction({ ...transaction, isTraced: false });
    return rows.at(-1)![0]![0] === "true";
  } catch {
    return null;
  }
}
