/** Explains the response to a request: missing privileges, and policies on rows. @module */
import { readAccess } from "../access/cells.ts";
import type { Identity } from "../../../state/auth/jwt_cache.ts";
import { readRows } from "../../../database/read_rows.ts";
import type { Statement } from "../../../database/transaction.ts";
import type { Database } from "../../../database/database.ts";
import { cachedContext } from "../../../api/handler/context.ts";
import { toResponse } from "../../../api/handler/headers.ts";
import { answer } from "../../../api/handler/pipeline.ts";
import { planRequest } from "../../../api/handler/plan_request.ts";
import type { Context, OpenGuard } from "../../../api/handler/exchange.ts";
import { receive } from "../../../api/handler/receive.ts";
import { printable } from "../../../base/lib/printable.ts";
import type { CaseRequest } from "../policy_test/case_file.ts";
import { readAnswer, requestOf, testConfig } from "../policy_test/case_handler.ts";
import type { HandlerState } from "../../../state/app_state/handler_state.ts";
import { compile, sql } from "../../../base/sql/fragment.ts";
import { nameText } from "../../../base/sql/name_text.ts";
import { relationOf } from "../../../api/transaction/data_plan.ts";
import { DryRun } from "./dry_run.ts";
import { needsOf, routineTraitsQuery, type TableTraits, tableTraitsQuery } from "./needs.ts";
import { leftOutOf, type ReadTexts, rowResults } from "./row_results.ts";
import { answerLines, type Outcome, relationLines, rowLines } from "./wording.ts";

/** Sends a request without effect. Returns the lines of an explanation; SQL is indented by four spaces. */
export async function explainRequest(
  { appState, database, hiddenRows, openGuard = () => null }: {
    readonly appState: HandlerState;
    /** Opens the guard that checks the request. Default: no guard. */
    readonly openGuard?: OpenGuard;
    readonly database: Database;
    /** `none`: no row is read as an owner, so that the explanation shows no more than the API. */
    readonly hiddenRows: "all" | "none";
  },
  request: CaseRequest,
  identity: Identity | null,
): Promise<readonly string[]> {
  const dry = new DryRun(database);
  const context = dryContext(appState, { dry, openGuard });
  const { config } = context.snapshot;
  const info = { isUnlogged: true, ...identity === null ? {} : { identity } };
  const exchange = receive(requestOf(request), info, context);
  const received = await readHead(toResponse(exchange, await answer(exchange)));
  const role = exchange.role ?? "";
  const outcome: Outcome = { answer: received, dry, role, rows: null, leftOut: "" };
  const planning = receive(requestOf(request), info, context);
  planning.identity = exchange.identity;
  // If the request sent no transaction, the answer contains the error.
  const planned = dry.transaction === null ? null : await planRequest(planning, null);
  if (planned?.kind !== "data") {
    const advice = exchange.failure?.advice ?? null;
    return [...answerLines(outcome), ...advice === null ? [] : [`  ${advice}`]].map(printable);
  }
  const read = readerOf(
    database,
    dry.transaction!.statements.filter(({ role }) => role === "settings"),
  );
  const readTraits = readerOf(database, []);
  const { plan } = planned.planned;
  const access = await readAccess(database, { config, role });
  const cellsOf = (name: string | null) =>
    new Map(access.cells.flatMap((cell) => cell.relation === name ? [[cell.action, cell]] : []));
  if (plan.kind === "call") {
    const [text = "[]"] = await readTraits(routineTraitsQuery(plan.call.routine));
    const [name = null, runsAs]: readonly (string | null)[] = JSON.parse(text);
    return [...answerLines(outcome), ...callLines(cellsOf(name), runsAs ?? role)].map(printable);
  }
  const relation = relationOf(plan)!;
  const cells = cellsOf(nameText(relation.schema, relation.name));
  const [text = "null"] = await readTraits(tableTraitsQuery(relation, role));
  const traits: TableTraits | null = JSON.parse(text);
  const report = traits === null
    ? null
    : hiddenRows === "none"
    ? "to see hidden rows: svc why, or admin-sign-in"
    : await rowResults(plan, { relation, traits, cells, read });
  const rows = typeof report === "string" ? null : report;
  const leftOut = plan.kind === "read" ? await leftOutOf(plan.read, received.rows, read) : "";
  return [
    ...answerLines({ ...outcome, rows, leftOut }),
    ...relationLines(cells, needsOf(plan), traits),
    ...typeof report === "string" ? [report] : rowLines(rows ?? [], relation.primaryKey, traits),
  ].map(printable);
}

function dryContext(
  appState: HandlerState,
  { dry, openGuard }: { readonly dry: DryRun; readonly openGuard: OpenGuard },
): Context {
  const { snapshot } = appState;
  return {
    ...cachedContext(appState, { loading: "shared", pathHosts: [], openGuard })(snapshot),
    snapshot: { ...snapshot, config: testConfig(snapshot.config), rateLimits: null },
    database: dry.database,
  };
}

function callLines(
  cells: Parameters<typeof relationLines>[0],
  runsAs: string,
): readonly string[] {
  const needs = [{ action: "execute", columns: [], use: "" } as const];
  const [first = "", ...grants] = relationLines(cells, needs, null);
  return [`${first}; its body, which is not checked, runs as ${runsAs}`, ...grants];
}

/** Time limits. An explanation must not wait for locks of other sessions, or for endless policies. */
const limits = sql`select pg_catalog.set_config('lock_timeout', '1s', true),
  pg_catalog.set_config('statement_timeout', '1s', true)`;

/** Returns a reader whose queries run after `settings`. Without them, PostgreSQL prints names with
 * their schemas. */
function readerOf(database: Database, settings: readonly Statement[]): ReadTexts {
  return async (query, before = []) => {
    const texts = [limits, ...before, query].map((text) => ({
      ...compile(text),
      use: "rows" as const,
    }));
    return (await readRows(database, ...settings, ...texts)).map(([text]) => text!);
  };
}

/** Reads the error of a response, or the number of its rows. The first 10 MB of rows are discarded. */
async function readHead(response: Response): Promise<Outcome["answer"]> {
  const { status, headers, body } = response;
  if (status >= 400) return await readAnswer(response);
  let bytes = 0;
  for await (const { length } of body ?? []) if ((bytes += length) > 10_000_000) break;
  const range = headers.get("Content-Range") ?? "";
  const [, first, last] = /^(?:(\d+)-(\d+)|\*)\//.exec(range) ?? [];
  const rows = first === undefined ? 0 : Number(last) - Number(first) + 1;
  return { status, code: null, message: null, rows: range === "" ? null : rows };
}
