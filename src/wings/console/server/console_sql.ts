/** Runs a reader's query like a request with the reader's token: read-only, and with the role of the
 * token. @module */
import { AdminDataError } from "../../../api/wing.ts";
import { cachedContext } from "../../../api/handler/context.ts";
import { toResponse } from "../../../api/handler/headers.ts";
import { answer } from "../../../api/handler/pipeline.ts";
import { receive } from "../../../api/handler/receive.ts";
import { pathSegment } from "../../../base/http/percent.ts";
import { interceptedDatabase } from "../../../database/intercepted.ts";
import {
  metadataTransaction,
  type Statement,
  type Transaction,
} from "../../../database/transaction.ts";
import { errorMembers } from "../../../base/errors/error_response.ts";
import { parseJsonObject } from "../../../base/lib/json_object.ts";
import type { HandlerState } from "../../../state/app_state/handler_state.ts";

/** Answer of `/console/sql`. */
export interface SqlAnswer {
  /** JSON of an array of rows, or of a plan. */
  readonly text: string;
  /** Milliseconds of the transaction. */
  readonly ms: number;
  /** Whether there are more rows. */
  readonly isCut: boolean;
}

/** Maximum number of rows in an answer. */
const maxRows = 1000;

/** Maximum body of a request. */
const maxSqlBytes = 100_000;

/**
 * Functions that are refused, because they could set another role or execute a text. The plan
 * contains their names regardless of their spelling in the SQL. On machines that `admin-sign-in`
 * trusts, readers may use every role except the login role.
 */
const refused = /\b(?:set_config|\w+_to_xml\w*|ts_stat|ts_rewrite|dblink\w*)\(/;

/** Runs or explains the SQL in a request's body. Rejects with an `AdminDataError` for an error in the SQL. */
export async function consoleSql(appState: HandlerState, request: Request): Promise<SqlAnswer> {
  const length = Number(request.headers.get("content-length") ?? Infinity);
  const isTrusted = appState.snapshot.config.adminSignIn && request.method === "POST";
  if (!isTrusted || length > maxSqlBytes) {
    await request.body?.cancel();
    throw new AdminDataError(403, "Set admin-sign-in, and send at most 100 kB of SQL");
  }
  const { sql = "", isExplained = false, token = null } = parseJsonObject(await request.text()) ??
    {};
  const query = String(sql).replace(/[\s;]+$/, "").trimStart();
  const [word] = /^[a-z]+/i.exec(query) ?? [];
  if (word !== undefined && !/^(?:select|with|values|table)$/i.test(word)) {
    const message = `Expected SELECT, WITH, VALUES or TABLE instead of ${word.toUpperCase()}`;
    throw new AdminDataError(400, message);
  }
  const before = await settingsOf(appState, typeof token === "string" ? token : null);
  const rows = `select * from (\n${query}\n) as query`;
  try {
    const [plan] = await read(appState, before, `explain (verbose, costs off) ${rows}`);
    if (plan.some(([line]) => refused.test(line!))) {
      throw new AdminDataError(
        400,
        "Functions that change settings or execute a text are refused here",
      );
    }
    if (isExplained === true) {
      const text = `explain (analyze, buffers, format json) ${rows}`;
      const [lines, ms] = await read(appState, before, text);
      return { text: lines[0]![0]!, ms, isCut: false };
    }
    const text =
      `select pg_catalog.json_agg(json)::pg_catalog.text, pg_catalog.count(*) > ${maxRows} ` +
      `from (${rows} limit ${maxRows + 1}) as json`;
    const [[[json, isCut]], ms] = await read(appState, before, text) as [
      [[string | null, string]],
      number,
    ];
    return { text: json ?? "[]", ms, isCut: isCut === "t" };
  } catch (error) {
    if (error instanceof AdminDataError) throw error;
    const { message, hint = null } = errorMembers(error, appState.dialect);
    throw new AdminDataError(400, hint === null ? message : `${message}. ${hint}`);
  }
}

/** Resolves with the rows of the last statement, and its duration in milliseconds. */
async function read(
  { database }: HandlerState,
  before: readonly Statement[],
  text: string,
): Promise<readonly [rows: readonly (readonly (string | null)[])[], ms: number]> {
  const statements = [...before, limits, { text, params: [], use: "rows" } as const];
  const started = performance.now();
  const { rows } = await database.transaction({
    ...metadataTransaction(statements, "rollback"),
    retry: "never",
    isTraced: false,
  });
  return [rows.at(-1)!, performance.now() - started];
}

const limits: Statement = {
  text: "select pg_catalog.set_config('statement_timeout', '10s', true), " +
    "pg_catalog.set_config('lock_timeout', '1s', true)",
  params: [],
  use: "none",
};

/** Resolves with the statements before a request: its role, claims and pre-request function. */
async function settingsOf(
  appState: HandlerState,
  token: string | null,
): Promise<readonly Statement[]> {
  const { snapshot, snapshot: { cache, config } } = appState;
  const [name] = cache?.relationNames(config.dbSchemas[0]!) ?? [];
  if (name === undefined) throw new AdminDataError(400, "The first schema has no relation");
  const captured: Transaction[] = [];
  const database = interceptedDatabase(appState.database, (transaction) => {
    captured.push(transaction);
    return Promise.reject(new Error("the settings were read"));
  });
  const context = {
    ...cachedContext(appState, { loading: "shared", pathHosts: [] })(snapshot),
    snapshot: { ...snapshot, config: { ...config, serverPathPrefix: null }, rateLimits: null },
    database,
  };
  const headers = new Headers(token === null ? [] : [["Authorization", `Bearer ${token}`]]);
  const request = new Request(`http://localhost/${pathSegment(name)}?limit=0`, { headers });
  const exchange = receive(request, { isUnlogged: true }, context);
  const response = toResponse(exchange, await answer(exchange));
  const [transaction] = captured;
  if (transaction !== undefined) {
    return transaction.statements.filter(({ role = "" }) =>
      /^(?:settings|pre-request)$/.test(role)
    );
  }
  throw new AdminDataError(response.status, (await response.json()).message);
}
