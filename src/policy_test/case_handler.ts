/** Sends requests of cases to the handler in this process. @module */
import { callerIdentity } from "../auth/caller_identity.ts";
import type { Identity } from "../auth/jwt_cache.ts";
import type { Config } from "../config/options.ts";
import type { ConfigSource } from "../config/source.ts";
import type { Database } from "../database/database.ts";
import { isJsonObject } from "../lib/json_object.ts";
import type { Transport } from "../database/transport.ts";
import type { Observation } from "../observe/observation.ts";
import { Service } from "../service/service.ts";
import { anonymous, type CaseFile, type CaseRequest } from "./case_file.ts";
import type { CaseAnswer } from "./expectation.ts";
import { type FixtureScript, type ReadInclude, withFixtures } from "./fixtures.ts";

/** Dependencies of a run other than its fixtures. */
export interface RunSetup {
  /** An unused connection; it can be used for the next run. */
  readonly transport: Transport;
  readonly readInclude: ReadInclude;
  readonly source: ConfigSource;
  readonly observe: (event: Observation) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** A service behind fixtures, and its database. */
export interface FixtureService {
  readonly service: Service;
  readonly database: Database;
}

/** Runs `use` with a service behind fixtures. Rejects as {@linkcode withFixtures} does. */
export async function withCaseService<Result>(
  { transport, readInclude, source, observe, now }: RunSetup,
  script: FixtureScript,
  use: (parts: FixtureService) => Promise<Result>,
): Promise<Result> {
  const configure: ConfigSource["configure"] = (values) => testConfig(source.configure(values));
  const tested = () => ({ ...source, configure });
  return await withFixtures(transport, { script, readInclude }, async (database) => {
    const options = { source: tested, database, now, observe, onFatal: () => {} };
    const service = await Service.create(options);
    try {
      await service.reloadSchema();
      if (service.snapshot.cache === null) throw new Error("cannot load the schema cache");
      return await use({ service, database });
    } finally {
      await service.close();
    }
  });
}

/** A rollback checks deferred constraints, which a savepoint does not. Paths are those behind a prefix. */
export function testConfig(config: Config): Config {
  const isOverridable = config.dbTxEnd.endsWith("-allow-override");
  return {
    ...config,
    dbTxEnd: isOverridable ? "rollback-allow-override" : "rollback",
    dbReplicaUri: null,
    rateLimits: null,
    serverPathPrefix: null,
  };
}

/** Returns the identity of a case's caller; null for one without a token. */
export function identityOf(
  { callers }: Pick<CaseFile, "callers">,
  name: string,
  config: Pick<Config, "dbAnonRole">,
): Identity | null {
  return name === anonymous ? null : callerIdentity(callers.get(name)!, config);
}

/** Builds the request. Writes to relations count their rows. */
export function requestOf({ method, target, headers: fields, body }: CaseRequest): Request {
  const headers = new Headers(fields.map(([name, value]): [string, string] => [name, value]));
  if (body !== null && !headers.has("Content-Type")) {
    headers.set("Content-Type", "application/json");
  }
  const isWrite = ["POST", "PATCH", "PUT", "DELETE"].includes(method);
  if (isWrite && !/^\/(?:rpc\/|$|\?)/.test(target)) headers.append("Prefer", "count=exact");
  return new Request(`http://localhost${target}`, { method, headers, body });
}

/** Reads an answer. */
export async function readAnswer(response: Response): Promise<CaseAnswer> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = text !== "" && /[/+]json\b/.test(headers.get("Content-Type") ?? "");
  const json: unknown = isJson ? JSON.parse(text) : undefined;
  if (status >= 400) {
    const { code, message } = isJsonObject(json) ? json : {};
    const isError = typeof code === "string";
    return { status, code: isError ? code : null, message: String(message), rows: null, json };
  }
  const rows = Array.isArray(json) ? json.length : rangeRows(headers.get("Content-Range"));
  return { status, code: null, message: null, rows, json };
}

/** `0-1/2`, else `0-1` behind a read without a count; null for neither. */
function rangeRows(range: string | null): number | null {
  const [, first, last, total] = /^(?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(range ?? "") ?? [];
  if (total !== undefined && total !== "*") return Number(total);
  return first === undefined ? null : Number(last) - Number(first) + 1;
}
