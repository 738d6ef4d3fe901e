/** Makes the state that the requests of a snapshot share. @module */
import { anonymousIdentity } from "../auth/authenticate.ts";
import { SpoolSpace } from "../lib/spool_file.ts";
import { PlanCache } from "../plan_cache/plan_cache.ts";
import type { RequestService } from "../service/request_service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import type { Snapshot } from "../service/snapshot.ts";
import { ColumnPrivileges } from "./column_privileges.ts";
import { earlyAnswers } from "./early_answers.ts";
import type { AgentsHost, Context, RequestCounters } from "./exchange.ts";
import { RequestsInFlight } from "./in_flight.ts";
import { headerSteps, replySteps } from "./reply_steps.ts";
import { RouteNames } from "./route_names.ts";
import { Uploads } from "./uploads.ts";

/** Makes the function that returns the context of a snapshot. */
export function cachedContext(
  service: RequestService,
  { loading, agents }: {
    readonly loading: ServiceOptions["loading"];
    readonly agents: AgentsHost | null;
  },
): (snapshot: Snapshot) => Context {
  const { database, dialect, now } = service;
  const { bodySpool } = database;
  const common = {
    service,
    database,
    dialect,
    now,
    agents,
    uploads: new Uploads({ database, space: bodySpool?.space ?? new SpoolSpace() }),
    inFlight: new RequestsInFlight(),
    counters: countersOf(service),
    earlyAnswers: earlyAnswers(service, loading),
    bookmarkHeader: database.hasStandbys === true ? dialect.bookmarkHeader : null,
  };
  const contextOf = (
    snapshot: Snapshot,
    plans: Pick<Context, "columnPrivileges" | "planCache">,
  ): Context => {
    if (bodySpool !== undefined) bodySpool.maxFileBytes = snapshot.config.serverSpoolSize;
    const { planCache, columnPrivileges } = plans;
    return {
      ...common,
      snapshot,
      planCache,
      columnPrivileges,
      routes: new RouteNames(snapshot.cache, snapshot.config),
      anonymous: anonymousIdentity(snapshot.config),
      replySteps: replySteps({ ...common, snapshot }),
      headerSteps: headerSteps({ ...common, snapshot }),
    };
  };
  const newPlans = (snapshot: Snapshot) => ({
    planCache: new PlanCache(snapshot),
    columnPrivileges: new ColumnPrivileges(database),
  });
  let context = contextOf(service.snapshot, newPlans(service.snapshot));
  return (snapshot) => {
    if (snapshot === context.snapshot) return context;
    const isKept = context.planCache.isOf(snapshot);
    context = contextOf(snapshot, isKept ? context : newPlans(snapshot));
    return context;
  };
}

function countersOf({ metricRegistry, setSpanAttribute }: RequestService): RequestCounters {
  const rateLimited = metricRegistry.counter(rateLimitedCounter);
  const replays = metricRegistry.counter(replayCounter);
  const batchOperations = metricRegistry.counter(batchOperationCounter);
  const failedPreconditions = metricRegistry.counter(preconditionCounter);
  return {
    rateLimited: (policy) => rateLimited.increment(policy),
    replayed: () => replays.increment(),
    batch: (operations) => {
      batchOperations.add(operations);
      setSpanAttribute?.("svc.batch.operations", operations);
    },
    preconditionFailed: () => failedPreconditions.increment(),
  };
}

const rateLimitedCounter = {
  name: "rate_limited_total",
  help: "Requests that a policy of rate-limits refused",
  labels: ["policy"],
} as const;

const batchOperationCounter = {
  name: "batch_operations_total",
  help: "Operations of batches",
} as const;

const replayCounter = {
  name: "idempotent_replays_total",
  help: "Requests with an Idempotency-Key that got the answer of an earlier one",
} as const;

const preconditionCounter = {
  name: "precondition_failed_total",
  help: "Requests whose If-Match or If-None-Match did not hold",
} as const;
