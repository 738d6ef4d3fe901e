/** Explains the answer to a request: lacking privileges, and policies that hide or refuse rows.
 * @module */
import type { Identity } from "../auth/jwt_cache.ts";
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { cachedContext } from "../handler/context.ts";
import { toResponse } from "../handler/handler.ts";
import { answer } from "../handler/pipeline.ts";
import { planRequest } from "../handler/plan_request.ts";
import { receive } from "../handler/receive.ts";
import type { CaseRequest } from "../policy_test/case_file.ts";
import { readAnswer, requestOf, testConfig } from "../policy_test/case_handler.ts";
import type { RequestService } from "../service/request_service.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import { DryRun } from "./dry_run.ts";
import { type Need, needsOf } from "./needs.ts";
import {
  relationFactsStatement,
  type RelationRights,
  type RoutineFacts,
  routineFactsStatement,
} from "./relation_facts.ts";
import { rulesOf } from "./request_policies.ts";
import { type ReadRows, rowResults } from "./row_results.ts";
import { answerLines, relationLines, routineLines, rowLines } from "./wording.ts";

/** A lock that another session holds does not keep an explanation waiting. */
const lockTimeout: Statement = {
  text: "set local lock_timeout = '2s'",
  params: [],
  use: "none",
};

/** Sends a request without an effect. Returns the lines of its explanation, SQL indented by four spaces. */
export async function explainRequest(
  { service, database, hiddenRows }: {
    readonly service: RequestService;
    readonly database: Database;
    /** `none` reads no row as an owner, so that an explanation shows what the API shows. */
    readonly hiddenRows: "all" | "none";
  },
  request: CaseRequest,
  identity: Identity | null,
): Promise<readonly string[]> {
  const dry = new DryRun(database);
  const contextOf = cachedContext(service, { loading: "shared", agents: null });
  const { snapshot } = service;
  const context = {
    ...contextOf(snapshot),
    snapshot: { ...snapshot, config: testConfig(snapshot.config), rateLimits: null },
    database: dry.database,
  };
  const info = { isUnlogged: true, ...identity === null ? {} : { identity } };
  const exchange = receive(requestOf(request), info, context);
  const received = await readAnswer(toResponse(exchange, await answer(exchange)));
  const outcome = { answer: received, dry, role: exchange.role ?? "", rows: null };
  const planning = receive(requestOf(request), info, context);
  planning.identity = exchange.identity;
  const { cache } = snapshot;
  const { batch } = dry;
  // Without a transaction, the answer has the error.
  const planned = batch === null || cache === null ? null : await planRequest(planning, null);
  if (planned?.kind !== "data") {
    const advice = exchange.failure?.advice ?? null;
    return [...answerLines(outcome), ...advice === null ? [] : [`  ${advice}`]];
  }
  const settings = batch!.statements.filter(({ role }) => role === "settings");
  const read: ReadRows = async (query, before = []) => {
    const statements = [lockTimeout, ...settings, ...before, query];
    const { rows } = await database.transaction(metadataBatch(statements, "rollback"));
    return rows.at(-1)!;
  };
  const { plan } = planned.planned;
  return await explainPlan(plan, {
    needs: needsOf(plan, cache!),
    outcome,
    database,
    read,
    hiddenRows,
  });
}

async function explainPlan(
  plan: DataPlan,
  { needs, outcome, database, read, hiddenRows }: {
    readonly needs: readonly Need[];
    readonly outcome: Parameters<typeof answerLines>[0];
    readonly database: Database;
    readonly read: ReadRows;
    readonly hiddenRows: "all" | "none";
  },
): Promise<readonly string[]> {
  const { role } = outcome;
  const lines: string[] = [];
  let rows = outcome.rows;
  if (plan.kind === "call") {
    const statement = routineFactsStatement(plan.call.routine, role);
    const facts = await readFacts<RoutineFacts>(database, statement);
    if (facts !== null) lines.push(...routineLines(facts));
  }
  const byRelation = Map.groupBy(needs, ({ relation: { schema, name } }) => `${schema}\0${name}`);
  for (const own of byRelation.values()) {
    const isRoot = own[0] === needs[0] && plan.kind !== "call";
    const statement = relationFactsStatement(own[0]!.relation, role);
    const steps = await readFacts<readonly RelationRights[]>(database, statement) ?? [];
    const { old, added, conflicting } = isRoot ? rulesOf(plan) : rulesOfReading;
    for (const facts of steps) {
      lines.push(...relationLines(facts, needsOn(facts, own), [...old, ...added, ...conflicting]));
    }
    const [table] = steps;
    if (!isRoot || table?.isTable !== true) continue;
    rows = hiddenRows === "none" ? null : await rowResults(plan, table, read);
    if (rows !== null) lines.push(...rowLines(rows, table));
    else if (hiddenRows === "none") lines.push("to see hidden rows: svc why, or admin-sign-in");
    else lines.push(`to see hidden rows: --db-uri of ${table.owner}`);
  }
  return [...answerLines({ ...outcome, rows }), ...lines];
}

const rulesOfReading = {
  old: [{ command: "r", clause: "using" } as const],
  added: [],
  conflicting: [],
};

async function readFacts<Facts>(database: Database, statement: Statement): Promise<Facts | null> {
  // PostgreSQL prints names outside of the search path with their schemas.
  const search: Statement = { text: "set local search_path = ''", params: [], use: "none" };
  const { rows } = await database.transaction(
    metadataBatch([lockTimeout, search, statement], "rollback"),
  );
  return JSON.parse(rows.at(-1)?.[0]?.[0] ?? "null");
}

/** Returns the needs of the caller, or those of the view above. */
function needsOn(
  { columnsRead, schema, name }: RelationRights,
  own: readonly Need[],
): readonly Need[] {
  const relation = { schema, name };
  return columnsRead === null
    ? own
    : [{ relation, action: "select", columns: columnsRead, use: "the view reads" }];
}
