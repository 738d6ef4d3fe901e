/** The host of live queries: handles their paths, and reads rows by requests in this process. @module */
import { isRevoked } from "../../state/auth/revocations.ts";
import { liveErrors } from "./live_errors.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { schedule } from "../../base/lib/timers.ts";
import { dependentTables } from "./dependencies.ts";
import { LiveEndpoint } from "./endpoint.ts";
import { LiveGroups } from "./groups.ts";
import { parsePgSnapshot } from "./offset.ts";
import { ChangeReader } from "./reader.ts";
import { interestOf } from "./scope.ts";
import type { ReadPlan } from "../../api/plan/read/read_plan.ts";
import type { Reply } from "../../api/response/reply.ts";
import type { HandlerState } from "../../state/app_state/handler_state.ts";
import type { AppStateOptions } from "../../state/app_state/app_state_options.ts";
import { changedContext } from "../../api/handler/context.ts";
import type { Wing } from "../../api/wing.ts";
import type { Context, PathHost } from "../../api/handler/exchange.ts";
import { answer, failureReply } from "../../api/handler/pipeline.ts";
import { receive } from "../../api/handler/receive.ts";
import { reportOutcome } from "../../api/handler/report.ts";
import type { RequestGuard } from "../../api/handler/exchange.ts";
import type { GroupsOptions } from "./group.ts";
import { type LiveConfig, liveOptions } from "./live_options.ts";

/** Live queries below `live-path`. */
export const liveWing: Wing = {
  name: "live",
  options: liveOptions,
  errors: liveErrors,
  openPaths,
};

function openPaths(
  appState: HandlerState,
  loading: AppStateOptions["loading"] = "shared",
): PathHost | null {
  const { livePath: prefix } = appState.snapshot.config as LiveConfig;
  if (prefix === null) return null;
  let context: () => Context;
  // Live queries are not possible if each connection to PostgreSQL ends with its request.
  const endpoint = loading === "unshared" ? null : openEndpoint(appState, () => context());
  return {
    matches: (path) => path.startsWith(`${prefix}/`),
    async respond(exchange) {
      context = exchange.context.current;
      const path = exchange.raw.path.slice(prefix.length);
      exchange.route = prefix + exchange.context.routes.of(path);
      try {
        if (exchange.refusal !== null) throw exchange.refusal;
        if (endpoint === null) throw liveErrors.liveUnavailable();
        return await endpoint.respond(exchange, prefix);
      } catch (thrown) {
        return failureReply(exchange, thrown);
      }
    },
  };
}

function openEndpoint(appState: HandlerState, context: () => Context): LiveEndpoint {
  const { metricRegistry: registry, ending, database, now: time } = appState;
  const now = () => performance.now();
  const read = rowReader(appState, context);
  const revoked = revocationReader(appState, context);
  const snapshot = () => appState.snapshot;
  const groups = new LiveGroups({ snapshot, read, now, time, schedule, revoked });
  const intervalMs = () => (appState.snapshot.config as LiveConfig).liveInterval * 1000;
  const onFailure = (thrown: unknown) =>
    appState.observe({ kind: "live-poll-failed", error: errorMembers(thrown, appState.dialect) });
  const reader = new ChangeReader({ database, intervalMs, groups, now, schedule, onFailure });
  const refusals = registry.counter({
    name: "live_refusals_total",
    help: "Live queries that were refused, also where an EventSource is to connect again",
    labels: ["code"],
  });
  const gauge = (name: string, help: string, value: () => number) =>
    registry.gauge({ name, help }, () => [[[], value()]]);
  gauge("live_streams", "Streams and waiting polls of live queries", () => groups.streams);
  gauge("live_groups", "Results that live queries share", () => groups.size);
  ending.addEventListener("abort", () => {
    for (const part of [reader, groups]) part.close();
  }, { once: true });
  const onRefused = (error: unknown) =>
    refusals.increment(errorMembers(error, appState.dialect).code);
  return new LiveEndpoint(groups, reader, onRefused);
}

/** Returns a function that returns null until the revoked tokens or the API keys change. After a
 * change, it returns a function that tests whether an identity is revoked. */
function revocationReader(
  { revocations, now, snapshot }: HandlerState,
  context: () => Context,
): GroupsOptions["revoked"] {
  let [knownIndex, knownKeys]: readonly unknown[] = [null, snapshot.auth.apiKeys];
  return () => {
    const { anonymous, snapshot: { config, auth: { apiKeys } } } = context();
    const index = config.jwtRevocations === null ? null : revocations.current();
    if (index instanceof Promise || index === knownIndex && apiKeys === knownKeys) return null;
    [knownIndex, knownKeys] = [index, apiKeys];
    return ({ claims: json, key }) => {
      if (key !== undefined) return apiKeys?.has(key) !== true;
      if (index === null || json === anonymous?.claims) return false;
      return isRevoked({ claims: JSON.parse(json), json }, index, Math.floor(now() / 1000));
    };
  };
}

/** Returns a function that reads the rows of a group, and their snapshot, by a GET in this process. */
function rowReader(appState: HandlerState, context: () => Context): GroupsOptions["read"] {
  const help = "Reads of results of live queries";
  const runs = appState.metricRegistry.counter({ name: "live_runs_total", help });
  const contextOf = changedContext(({ config, ...snapshot }) => ({
    ...snapshot,
    // The prefix is null, because `path` has none. The log format `json` makes svc measure requests.
    config: { ...config, showsSnapshot: true, serverPathPrefix: null, logFormat: "json" },
    rateLimits: null,
  }));
  return async ({ path, query, profile, identity }, signal) => {
    runs.increment();
    const headers = { accept: "application/x-ndjson", ...profile && { "accept-profile": profile } };
    const request = new Request(`http://localhost${path}?${query}`, { headers, signal });
    // Without a header for bookmarks, the primary executes the reads.
    const { guard, ...inner } = contextOf(context());
    const readContext = { ...inner, bookmarkHeader: null, guard: guard && guardOfReads(guard) };
    const exchange = receive(request, { identity, isUnlogged: true, path }, readContext);
    const { cache, config } = readContext.snapshot;
    const startedAt = performance.now();
    const reply = await answer(exchange);
    try {
      if (exchange.failure === null && exchange.plan?.kind === "read") {
        const lines = await linesOf(reply, (config as LiveConfig).liveMaxRows);
        const ms = performance.now() - startedAt - exchange.timing!.queueMs;
        const { read } = exchange.plan;
        const tables = await dependentTables(read, cache!, appState.database);
        const interest = interestOf(tables, read.root, query);
        const snapshot = parsePgSnapshot(reply.snapshot!);
        return { lines, snapshot, ms, keyColumns: keyColumnsOf(read), interest, cache };
      }
    } catch (thrown) {
      failureReply(exchange, thrown);
    }
    reportOutcome(exchange);
    const error = exchange.failure?.error ??
      liveErrors.invalidLiveQuery("It does not read a relation");
    void appState.reloadIfStale(error);
    return error;
  };
}

/** Returns the guard for a client's GET. The guard ignores the header `Accept`, which this server has set. */
function guardOfReads(guard: RequestGuard): RequestGuard {
  return {
    succeeded: (exchange) => guard.succeeded?.(exchange),
    check(exchange, request) {
      const { accept: _, ...headers } = request.raw.headers;
      return guard.check(exchange, {
        ...request,
        raw: { ...request.raw, headers },
        shape: null,
      });
    },
  };
}

/** Returns the lines of a reply. Throws `182` if there are more than `max`. */
async function linesOf({ content }: Reply, max: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  for await (const chunk of content instanceof Uint8Array ? [content] : content ?? []) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop()!;
    for (const part of parts) lines.push(part);
    if (lines.length > max) throw liveErrors.liveResultTooLarge(max);
  }
  return lines;
}

/** Returns the output names of the primary key's columns; empty if the rows lack such a column. */
function keyColumnsOf({ root: { items }, relation }: ReadPlan): readonly string[] {
  const { primaryKey } = relation!;
  if (items.some(({ kind }) => kind === "all")) return primaryKey;
  const names = new Map(items.flatMap((item) => {
    const isExact = item.kind === "column" && (item.cast === null || item.cast === "text");
    const isColumn = isExact && item.field.path.length === 0;
    return isColumn ? [[item.field.column, item.key]] : [];
  }));
  const keys = primaryKey.flatMap((column) => names.get(column) ?? []);
  return keys.length === primaryKey.length ? keys : [];
}
