/** Sends requests of cases to the handler in this process, each in the state after the fixtures. @module */
import { callerIdentity } from "../../../state/auth/authenticate.ts";
import type { Config } from "../../../state/config/options.ts";
import type { ConfigSource } from "../../../state/config/source.ts";
import { readRows } from "../../../database/read_rows.ts";
import type { SavepointDatabase } from "../../../database/connection/savepoint_database.ts";
import type { TransportSetup } from "../../../api/command.ts";
import { openGuardOf, serviceHandler } from "../../../api/handler/handler.ts";
import { errors } from "../../../base/errors/catalogue.ts";
import { isError } from "../../../base/errors/service_error.ts";
import type { OpenGuard } from "../../../api/handler/exchange.ts";
import { isJsonObject } from "../../../base/lib/json_object.ts";
import { AppState } from "../../../state/app_state/app_state.ts";
import type { CaseCaller, CaseFile, CaseRequest, CaseResult, PolicyCase } from "./case_file.ts";
import { answerText, type CaseAnswer, differenceOf } from "./expectation.ts";
import { type FixtureScript, type ReadInclude, withFixtures } from "./fixtures.ts";

/** Dependencies of a run other than its fixtures. */
export interface RunSetup extends TransportSetup {
  readonly readInclude: ReadInclude;
  /** Called with the operation that permits a case. */
  readonly onOperation?: OnOperation;
}

/** A service whose database has the fixtures. */
export interface CaseState {
  readonly appState: AppState;
  readonly database: SavepointDatabase;
  readonly send: (caller: CaseCaller | null, request: CaseRequest) => Promise<Response>;
}

/** A caller of a file, with its role. */
export interface CallerRole {
  readonly name: string;
  /** Null if the caller has no token. */
  readonly caller: CaseCaller | null;
  readonly role: string;
}

/** A file to run, with its name for errors and reports. */
export interface NamedCases {
  readonly name: string;
  readonly file: CaseFile;
  readonly setup: RunSetup;
}

/** Runs a file in one transaction, and rolls it back. Rejects as {@linkcode withCases} does. */
export async function runFile(named: NamedCases): Promise<readonly CaseResult[]> {
  return await withCases(named, async (state) => {
    const results: CaseResult[] = [];
    for (const each of named.file.cases) {
      if (state.database.counts().open === 0) break;
      results.push(await runCase(state, named.name, each));
    }
    return results;
  });
}

/** Runs a case. `file` is the name of its file in reports. */
export async function runCase(
  { appState, send }: CaseState,
  file: string,
  each: PolicyCase,
): Promise<CaseResult> {
  const answer = await readAnswer(await send(each.caller, each));
  const difference = each.expectation === null
    ? `expected nothing, got ${answerText(answer)}; --write adds it`
    : differenceOf(each.expectation, answer);
  const role = each.caller === null ? appState.snapshot.config.dbAnonRole : each.caller.role;
  return { file, case: each, role, answer, difference };
}

/**
 * Calls `use` with a service whose database has the fixtures of a file, and with the callers that
 * have a role. Rejects as {@linkcode withFixtures} does, and with an `Error` if the login cannot
 * set a role.
 */
export async function withCases<Result>(
  { name, file, setup }: NamedCases,
  use: (state: CaseState, callers: readonly CallerRole[]) => Promise<Result>,
): Promise<Result> {
  return await withCaseState(setup, { name, text: file.fixtures }, async (state) => {
    const { database, appState: { snapshot: { config } } } = state;
    const callers = [...file.callers].flatMap(([name, caller]) => {
      const role = caller?.role ?? config.dbAnonRole;
      return role === null ? [] : [{ name, caller, role }];
    });
    const params = [JSON.stringify(callers.map(({ role }) => role))];
    const statement = { text: mendingSql, params, use: "rows" } as const;
    const sql = (await readRows(database, statement)).join(" ");
    if (sql !== "") throw new Error(`cannot run ${name} as its callers: ${sql}`);
    return await use(state, callers);
  });
}

/** Query of the SQL that lets the login set the roles. Members may also need a GRANT: from PostgreSQL
 * 16 on, a membership may lack the option SET. */
const mendingSql = `
select distinct format(case when r.oid is null then 'create role %I;' else 'grant %I to %I;' end, name, session_user)
from json_array_elements_text($1) name left join pg_roles r on rolname = name
where r.oid is null or not pg_has_role(session_user, r.oid,
  case when current_setting('server_version_num')::int < 160000 then 'MEMBER' else 'SET' end) order by 1`;

/** Calls `use` with a service whose database has the fixtures. Rejects as {@linkcode withFixtures} does. */
export async function withCaseState<Result>(
  { transport, readInclude, source, observe, now, wings, onOperation = () => {} }: RunSetup,
  script: FixtureScript,
  use: (parts: CaseState) => Promise<Result>,
): Promise<Result> {
  const configure: ConfigSource["configure"] = (values) => testConfig(source.configure(values));
  const tested = () => ({ ...source, configure });
  return await withFixtures(transport, { script, readInclude }, async (database) => {
    const options = { source: tested, database, now, observe, onFatal: () => {} };
    const appState = await AppState.create(options);
    try {
      await appState.reloadSchema();
      if (appState.snapshot.cache === null) throw new Error("cannot load the schema cache");
      const guard = { openGuard: guardOfCases(wings, onOperation) };
      const handle = serviceHandler(appState, "shared", [guard, ...wings]);
      const send: CaseState["send"] = async (caller, request) => {
        const identity = caller && callerIdentity(caller, appState.snapshot.config);
        return await handle(requestOf(request), { isUnlogged: true, ...identity && { identity } });
      };
      return await use({ appState, database, send });
    } finally {
      await appState.close();
    }
  });
}

/** Returns the configuration for cases. Its `db-tx-end` makes svc check deferred constraints, which the
 * end of a savepoint does not check. Paths have no prefix. */
export function testConfig(config: Config): Config {
  const unused = { dbReplicaUri: null, rateLimits: null, serverPathPrefix: null };
  return { ...config, ...unused, dbTxEnd: "rollback" };
}

/** Receives the operation of a case, and the role of its caller. */
export type OnOperation = (operation: string, role: string) => void;

/** Returns the guard of wings. It does not see the preference that {@linkcode requestOf} adds. If
 * `onOperation` is set, the guard refuses nothing, because cases test the policies. */
export function guardOfCases(wings: RunSetup["wings"], onOperation?: OnOperation): OpenGuard {
  const openGuard = openGuardOf(wings);
  return (snapshot) => {
    const guard = openGuard(snapshot);
    return guard && {
      check(exchange, { raw, ...request }) {
        const { method, path, headers: { prefer = "", ...others } } = raw;
        const own = countsRows(method, path) ? prefer.replace(/(?:^|, )count=exact$/, "") : prefer;
        const headers = own === "" ? others : { ...others, prefer: own };
        const sent = { ...request, raw: { ...raw, headers }, shape: null };
        if (onOperation === undefined) return guard.check(exchange, sent);
        try {
          guard.check(exchange, sent);
          if (exchange.operation !== null) onOperation(exchange.operation, exchange.role ?? "");
        } catch (error) {
          if (!isError(error, errors.unknownOperation)) throw error;
        }
        return "text";
      },
    };
  };
}

/** Returns whether a request writes to a relation, so that the affected rows are counted. */
function countsRows(method: string, target: string): boolean {
  return ["POST", "PATCH", "PUT", "DELETE"].includes(method) && !/^\/(?:rpc\/|$|\?)/.test(target);
}

/** Returns the request. A write to a relation asks for the number of affected rows. */
export function requestOf({ method, target, headers: fields, body }: CaseRequest): Request {
  const headers = new Headers(fields.map(([name, value]): [string, string] => [name, value]));
  if (body !== null && !headers.has("Content-Type")) {
    headers.set("Content-Type", "application/json");
  }
  if (countsRows(method, target)) headers.append("Prefer", "count=exact");
  return new Request(`http://localhost${target}`, { method, headers, body });
}

/** Reads an answer. */
export async function readAnswer(response: Response): Promise<CaseAnswer> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = text !== "" && /[/+]json\b/.test(headers.get("Content-Type") ?? "");
  const json: unknown = isJson ? JSON.parse(text) : undefined;
  const error = status >= 400 && isJsonObject(json) ? json : null;
  const code = typeof error?.["code"] === "string" ? error["code"] : null;
  const affected = Array.isArray(json) ? json.length : rangeRows(headers.get("Content-Range"));
  const rows = status < 400 ? affected : null;
  return { status, code, message: String(error?.["message"]), rows, json };
}

/** Returns the rows of `0-1/2`, or of `0-1` for a read without a count; null for other texts. */
function rangeRows(range: string | null): number | null {
  const [, first, last, total = "*"] = /^(?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(range ?? "") ?? [];
  if (total !== "*") return Number(total);
  return first === undefined ? null : Number(last) - Number(first) + 1;
}
