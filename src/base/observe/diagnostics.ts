/** The events of the diagnostic log, with their severity and their text. @module */
import {
  replacementsText,
  type TargetNameUse,
  targetNameWarning,
} from "../errors/target_name_warning.ts";
import { callText } from "./call_words.ts";
import { databaseDiagnostics } from "./database_diagnostics.ts";
import {
  debug,
  error,
  failure,
  info,
  notice,
  type ReportedError,
  toJson,
  warn,
  warning,
  withError,
} from "./diagnostic_row.ts";
import { redact } from "../lib/redact.ts";

/** Number of objects in the schema cache, by kind. */
export interface SchemaCacheCounts {
  readonly relations: number;
  readonly relationships: number;
  readonly functions: number;
  readonly representations: number;
  readonly mediaHandlers: number;
}

/** Time that the server took for one query of a load. */
export interface QueryTiming {
  readonly name: string;
  readonly ms: number;
}

/** Why a tenant is no longer loaded. */
export type TenantEnd =
  | "idle"
  | "least recently used"
  | "changed"
  | "removed"
  | "failed"
  | "shutdown";

/** Severity and text of each event. */
export const diagnostics = {
  ...databaseDiagnostics,
  "starting": notice(({ name, version }: { name: string; version: string }) =>
    `Starting ${name} ${version}...`
  ),
  "listening": notice(({ what, address }: { what: "api" | "admin"; address: string }) =>
    `${what === "api" ? "API" : "Admin"} server listening on ${redact(address)}`
  ),
  // The text ends with a space as in PostgREST, because log parsers may match it.
  "schema-cache-queried": notice(({ ms }: { ms: number }) =>
    `Schema cache queried in ${ms.toFixed(1)} milliseconds `
  ),
  "schema-cache-loaded": notice(({ counts, ms }: { counts: SchemaCacheCounts; ms: number }) => [
    `Schema cache loaded ${counts.relations} Relations, ` +
    `${counts.relationships} Relationships, ${counts.functions} RPCs, ` +
    `${counts.representations} Domain Representations, ` +
    `${counts.mediaHandlers} Media Type Handlers`,
    `Schema cache loaded in ${ms.toFixed(1)} milliseconds`,
  ]),
  "schema-cache-failed": failure((
    { schemas, extraSearchPath, error }: {
      schemas: readonly string[];
      extraSearchPath: readonly string[];
      error: ReportedError;
    },
  ) =>
    `Failed to load the schema cache using db-schemas=${redact(schemas.join(","))} and ` +
    `db-extra-search-path=${redact(extraSearchPath.join(","))}. ${toJson(error)}`
  ),
  "schema-missing": failure(({ filled }: { filled: readonly string[] }) =>
    "db-schemas names a schema that does not exist; " +
    (filled.length === 0
      ? "no schema has relations"
      : `schemas with relations: ${redact(filled.join(", "))}`)
  ),
  "schema-not-found": error(({ schema }: { schema: string }) =>
    `The schema ${redact(schema)} does not exist: requests do without it`
  ),
  "schema-cache-blocked": error(({ blocker }: { blocker: string }) =>
    `The schema cache cannot be loaded: ${redact(blocker)}`
  ),
  "schema-cache-timings": debug(({ timings }: { timings: readonly QueryTiming[] }) =>
    timings.map(({ name, ms }) => `${name}: ${ms.toFixed(1)} ms`).join(", ")
  ),
  "schema-changed": notice(() => "The schema has changed, reloading the schema cache"),
  "findings": warning(({ count }: { count: number }, call) =>
    `The database has ${count} finding${count === 1 ? "" : "s"}: ${callText(call, "check")}`
  ),
  "reload-requested": notice(({ what, channel }: { what: "schema" | "config"; channel: string }) =>
    `Received a ${what === "schema" ? "schema cache" : "config"} reload message on the ` +
    `"${redact(channel)}" channel`
  ),
  "jwt-cache-lookup": debug(() => "Looked up a JWT in JWT cache"),
  "jwt-cache-evicted": debug(() => "Evicted entry from JWT cache"),
  "jwks-failed": error(({ issuer, reason }: { issuer: string; reason: string }) =>
    `Failed to fetch the keys of ${redact(issuer)}: ${redact(reason)}`
  ),
  /** The service cannot import some keys of an issuer. `places` are their positions, from 1. */
  "jwks-keys-skipped": warn(({ issuer, places }: { issuer: string; places: readonly number[] }) =>
    `Skipped keys of ${redact(issuer)} that cannot be imported: number ${places.join(", ")}`
  ),
  "revocations-loaded": info(({ count }: { count: number }) =>
    `Loaded ${count} revocations of tokens`
  ),
  /** Reported once until a load succeeds. Until then, the previous list stays in use. */
  "revocations-failed": error(withError("Failed to load the revocations of tokens. ")),
  /** Reported once until a poll succeeds. */
  "live-poll-failed": error(withError("Failed to read the changes for live queries. ")),
  "config-reloaded": notice(() => "Config reloaded"),
  "config-reload-failed": failure(({ message }: { message: string }) =>
    `Failed reloading config: Error in config ${redact(message)}`
  ),
  "declared-key-ignored": warning(({ problem }: { problem: string }) =>
    `Declared key ignored: ${redact(problem)}`
  ),
  "restart-needed": warning(({ key }: { key: string }) =>
    `${key} has changed: takes effect after a restart`
  ),
  "limits-unavailable": notice(({ keys }: { keys: readonly string[] }) =>
    `WARNING: ${keys.join(", ")} ${keys.length === 1 ? "has" : "have"} no effect: the server of ` +
    "this runtime has no such limits"
  ),
  "database-config-failed": failure((
    { what, error }: { what: "configuration" | "roles"; error: ReportedError },
  ) =>
    what === "roles"
      ? `Failed to query the role settings. ${toJson(error)}`
      : `Failed to query database settings for the config parameters.${toJson(error)}`
  ),
  /** `jwt-role-claim-key` uses the old syntax; `path` is its value as parsed. */
  "legacy-role-path": warning(({ path, guide }: { path: string; guide: string }) => [
    `WARNING: The config \`jwt-role-claim-key=${redact(path)}\` is using the deprecated JSPath ` +
    "syntax.",
    `Update \`jwt-role-claim-key=${redact(path)}\` to the new JSONPath syntax as support for ` +
    `JSPath will be removed in a future release. ${guide}`,
  ]),
  "agent-write": info(({ role, tool, method, target, status, rows }: {
    role: string;
    tool: string;
    method: string;
    target: string;
    status: number; /** Null if the write failed or returns no rows. */
    rows: number | null;
  }) =>
    `Agent as ${redact(role)}: ${redact(`${tool} ${method} ${target}`)} ${status}` +
    (rows === null ? "" : ` ${rows} rows`)
  ),
  /** Precedes a request that names embeds in a deprecated way. `uses`: targets and aliases. */
  "target-names-used": warning((
    { uses, method, target }: { uses: readonly TargetNameUse[]; method: string; target: string },
  ) => [
    `WARNING: ${targetNameWarning}`,
    `Update filters, orders or limits that use ${redact(replacementsText(uses))} in ` +
    `\`${redact(`${method} ${target}`)}\``,
  ]),
  /** A request failed with a status ≥ 500, and the dialect logs that failure. */
  "request-failed": error(withError("")),
  /** Reports a hint for an error that lacks one. */
  "error-advised": warn((
    { code, message, advice }: { code: string; message: string; advice: string },
  ) => `${code} ${redact(message)}. Hint: ${redact(advice)}`),
  "request-advised": warn(({ advice }: { advice: string }) => `Hint: ${redact(advice)}`),
  /** The body of a response that had begun ends early: the client receives an incomplete body. */
  "response-aborted": error((
    { method, target, error }: { method: string; target: string; error: ReportedError },
  ) => `Aborted the response to ${redact(`${method} ${target}`)}: ${toJson(error)}`),
  "unexpected-error": error(({ error }: { error: unknown }) =>
    `Unexpected error: ${redact(stackOf(error))}`
  ),
  "tenant-failed": failure(({ reason, retrySeconds }: { reason: string; retrySeconds: number }) =>
    `Cannot serve the tenant: ${
      redact(reason)
    }; the next attempt follows after ${retrySeconds} seconds`
  ),
  "tenant-loaded": info(({ ms }: { ms: number }) =>
    `Tenant loaded in ${ms.toFixed(1)} milliseconds`
  ),
  "tenant-closed": info(({ reason }: { reason: TenantEnd }) => `Tenant closed: ${reason}`),
  "terminating": notice(({ signal }: { signal: "SIGTERM" | "SIGINT" }) =>
    `Received termination unix signal ${signal}`
  ),
  "shutdown-waiting": notice(({ seconds }: { seconds: number }) =>
    `Not ready any more; requests are served for ${seconds} seconds, or until the next signal`
  ),
  "workers-limited": warning(({ workers, limit }: { workers: number; limit: WorkerLimit }) =>
    `server-workers is lowered to ${workers}: ${workerLimits[limit]}`
  ),
} as const;

/** Reasons why a process has fewer threads than its configuration requests. */
const workerLimits = {
  "db-pool": "each worker needs a connection of db-pool",
  "embedded": "an embedded database belongs to one thread",
  "system": "threads cannot share an address on this system",
  "tenants": "the services of tenants run in one thread",
  "unix-socket": "threads cannot share a Unix socket",
  "unstable-net": "Deno needs --unstable-net to let threads share an address",
} as const;

export type WorkerLimit = keyof typeof workerLimits;

/** Returns the stack of a thrown value. Objects other than errors may not convert to a string. */
function stackOf(error: unknown): string {
  if (error instanceof Error) return error.stack ?? error.message;
  return typeof error === "object" ? "a thrown object that is not an error" : String(error);
}
