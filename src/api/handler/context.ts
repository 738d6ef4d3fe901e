/** Creates the state that all requests with one snapshot share. @module */
import { anonymousIdentity } from "../../state/auth/authenticate.ts";
import { PlanCache } from "./plan_cache/plan_cache.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import type { AppStateOptions } from "../../state/app_state/app_state_options.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { ColumnPrivileges } from "./column_privileges.ts";
import { earlyAnswers } from "./early_answers.ts";
import type { Context, OpenGuard, PathHost, RequestCounters } from "./exchange.ts";
import { RequestsInFlight } from "./in_flight.ts";
import { headerSteps, replySteps } from "./reply_steps.ts";
import { RouteNames } from "./route_names.ts";
import { BodySpool } from "../../base/lib/body_spool.ts";
import { SpoolSpace, temporaryFiles } from "../../base/lib/spool_file.ts";

interface ContextOptions {
  readonly loading: AppStateOptions["loading"];
  readonly pathHosts: readonly PathHost[];
  /** Default: all requests pass. */
  readonly openGuard?: OpenGuard;
}

export function cachedContext(
  appState: HandlerState,
  options: ContextOptions,
): (snapshot: Snapshot) => Context {
  const common = commonParts(appState, options);
  const contextOf = (
    snapshot: Snapshot,
    { planCache, columnPrivileges }: Pick<Context, "columnPrivileges" | "planCache">,
  ): Context => {
    common.bodySpool.maxFileBytes = snapshot.config.serverSpoolSize;
    return {
      ...common,
      snapshot,
      current: () => current(appState.snapshot),
      planCache,
      columnPrivileges,
      guard: options.openGuard?.(snapshot) ?? null,
      routes: new RouteNames(snapshot.cache, snapshot.config),
      anonymous: anonymousIdentity(snapshot.config),
      replySteps: replySteps({ ...common, snapshot }),
      headerSteps: headerSteps({ ...common, snapshot }),
    };
  };
  const newPlans = (snapshot: Snapshot) => ({
    planCache: new PlanCache(snapshot),
    columnPrivileges: new ColumnPrivileges(appState.database),
  });
  let context = contextOf(appState.snapshot, newPlans(appState.snapshot));
  const current = (snapshot: Snapshot): Context => {
    if (snapshot === context.snapshot) return context;
    const isKept = context.planCache.isOf(snapshot);
    context = contextOf(snapshot, isKept ? context : newPlans(snapshot));
    return context;
  };
  return current;
}

/** Returns a function that derives a context with a changed snapshot, once for each snapshot. */
export function changedContext(
  change: (snapshot: Snapshot) => Snapshot,
): (context: Context) => Context {
  const known = new WeakMap<Snapshot, Context>();
  return (context) => {
    let made = known.get(context.snapshot);
    if (made === undefined) {
      const snapshot = change(context.snapshot);
      made = { ...context, snapshot, planCache: new PlanCache(snapshot) };
      known.set(context.snapshot, made);
    }
    return made;
  };
}

/** Returns the parts of a context that are the same for all snapshots. */
function commonParts(appState: HandlerState, { loading, pathHosts }: ContextOptions) {
  const { database, dialect, now } = appState;
  return {
    appState,
    database,
    dialect,
    now,
    pathHosts,
    bodySpool: database.pool?.bodySpool ?? newSpool(),
    inFlight: new RequestsInFlight(),
    counters: countersOf(appState),
    earlyAnswers: earlyAnswers(appState, loading),
    bookmarkHeader: database.standbys !== undefined ? dialect.bookmarkHeader : null,
  };
}

function newSpool(): BodySpool {
  return new BodySpool({ space: new SpoolSpace(), maxFileBytes: 0, openFile: temporaryFiles() });
}

function countersOf({ metricRegistry }: HandlerState): RequestCounters {
  const counter = (name: string, help: string, labels: readonly string[] = []) =>
    metricRegistry.counter({ name, help, labels });
  return {
    rateLimited: counter(
      "rate_limited_total",
      "Requests that a policy of rate-limits refused",
      ["policy"],
    ),
    replays: counter(
      "idempotent_replays_total",
      "Requests with an Idempotency-Key that got the answer of an earlier one",
    ),
    operations: counter("operations_total", "Requests by the line of operations", ["operation"]),
    batchOperations: counter("batch_operations_total", "Operations of batches"),
    failedPreconditions: counter(
      "precondition_failed_total",
      "Requests whose If-Match or If-None-Match did not hold",
    ),
  };
}
