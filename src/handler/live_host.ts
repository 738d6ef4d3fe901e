/** The host of live queries: knows their paths, and makes their reads, which are requests of the API in
 * this process. @module */
import { errors } from "../errors/catalogue.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { noIdentifiers } from "../http/request_id.ts";
import { schedule } from "../lib/timers.ts";
import { LiveDependencies } from "../live/dependencies.ts";
import { LiveEndpoint } from "../live/endpoint.ts";
import { LiveGroups } from "../live/groups.ts";
import { hasSums, parsePgSnapshot } from "../live/offset.ts";
import type { LiveMessage, LiveQuery, LiveRows } from "../live/port.ts";
import { ChangeReader } from "../live/reader.ts";
import { interestOf } from "../live/scope.ts";
import { registerLiveMetrics } from "../observe/live_metrics.ts";
import { RequestTiming } from "../observe/stopwatch.ts";
import type { ReadNode } from "../plan/read_node.ts";
import type { ReadPlan } from "../plan/read_plan.ts";
import { PlanCache } from "../plan_cache/plan_cache.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { RequestService } from "../service/request_service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import type { Snapshot } from "../service/snapshot.ts";
import { admitClient, admitIdentity, authenticateRequest, clientKeyOf } from "./admission.ts";
import { type Context, Exchange, type PathHost } from "./exchange.ts";
import { answer, failureReply } from "./pipeline.ts";
import { reportOutcome } from "./report.ts";

/** Milliseconds between two looks for unused groups and old results. */
const checkMs = 1000;

/** Returns the host of a service; null without `live-path`. `context` returns that of the current snapshot. */
export function liveHost(
  service: RequestService,
  loading: ServiceOptions["loading"],
  context: () => Context,
): PathHost | null {
  const { livePath: prefix } = service.snapshot.config;
  if (prefix === null) return null;
  // Where connections end with the request, there is no endpoint.
  const endpoint = loading === "unshared" || !hasSums() ? null : openEndpoint(service, context);
  return {
    matches: (path) => path.startsWith(`${prefix}/`),
    async respond(exchange) {
      const path = exchange.pieces.path.slice(prefix.length);
      exchange.route = prefix + exchange.context.routes.of(path);
      try {
        if (exchange.refusal !== null) throw exchange.refusal;
        if (endpoint === null) throw errors.liveUnavailable();
        return await endpoint.respond(messageOf(exchange, path));
      } catch (thrown) {
        return failureReply(exchange, thrown);
      }
    },
  };
}

/** Returns a request as the endpoint sees it. */
function messageOf(exchange: Exchange, path: string): LiveMessage {
  const { request, pieces: { method, query, headers }, context: { snapshot } } = exchange;
  return {
    method,
    path,
    query,
    headers,
    config: snapshot.config,
    get signal() {
      return request.signal;
    },
    get clientKey() {
      return clientKeyOf(exchange);
    },
    async admit(use) {
      if (use === "start") admitClient(exchange);
      const identity = await authenticateRequest(exchange, snapshot.config.jwtAud);
      exchange.identity = identity;
      admitIdentity(exchange, identity);
      return identity;
    },
  };
}

function openEndpoint(service: RequestService, context: () => Context): LiveEndpoint {
  const { database, metricRegistry, ending, now: time } = service;
  const now = () => performance.now();
  const metrics = registerLiveMetrics(metricRegistry, () => ({
    streams: groups.streams,
    groups: groups.size,
  }));
  const reads = new LiveReads(service, context);
  const groups = new LiveGroups({
    config: () => service.snapshot.config,
    read: (query, signal) => {
      metrics.runs.increment();
      return reads.read(query, signal);
    },
    delayed: (ms) => metrics.delays.record(ms / 1000),
    excluded: () => metrics.excluded.increment(),
    now,
    time,
    schedule,
  });
  let { cache } = service.snapshot;
  let checkedAt = now();
  const reader = new ChangeReader({
    database,
    intervalMs: () => service.snapshot.config.liveInterval * 1000,
    isNeeded: () => groups.size > 0,
    found: (records) => groups.record(records),
    missed: () => groups.markAll(),
    polled: (ms) => {
      if (ms !== null) metrics.polls.record(ms / 1000);
      if (service.snapshot.cache !== cache) groups.reload();
      cache = service.snapshot.cache;
      if (now() - checkedAt < checkMs) return;
      checkedAt = now();
      groups.check();
    },
    now,
    schedule,
  });
  const refetched = () => metrics.refetches.increment();
  const endpoint = new LiveEndpoint({ groups, reader, refetched, time, schedule });
  ending.addEventListener("abort", () => {
    for (const part of [reader, groups, endpoint]) part.close();
  }, { once: true });
  return endpoint;
}

/** Reads the rows of groups: each read is an ordinary GET, whose answer shows its snapshot. */
class LiveReads {
  readonly #service: RequestService;
  readonly #context: () => Context;
  readonly #contexts = new WeakMap<Snapshot, Context>();
  readonly #dependencies: LiveDependencies;

  constructor(service: RequestService, context: () => Context) {
    this.#service = service;
    this.#context = context;
    this.#dependencies = new LiveDependencies(service.database);
  }

  async read(query: LiveQuery, signal: AbortSignal): Promise<LiveRows | ServiceError> {
    const timing = new RequestTiming();
    const exchange = this.#exchangeOf(query, signal, timing);
    const { snapshot: { cache, config } } = exchange.context;
    const startedAt = performance.now();
    const reply = await answer(exchange);
    try {
      if (exchange.failure === null && exchange.plan?.kind === "read") {
        const lines = await linesOf(reply, config.liveMaxRows);
        const ms = performance.now() - startedAt - timing.queueMs;
        const { read } = exchange.plan;
        const tables = await this.#dependencies.of(read, cache!);
        return {
          lines,
          snapshot: parsePgSnapshot(reply.snapshot!),
          ms,
          keyColumns: keyColumnsOf(read),
          // A cache that was replaced meanwhile may know other dependencies.
          interest: this.#service.snapshot.cache === cache
            ? interestOf(tables, read.root, query.query)
            : null,
        };
      }
    } catch (thrown) {
      failureReply(exchange, thrown);
    }
    reportOutcome(exchange);
    const error = exchange.failure?.error ?? errors.invalidLiveQuery("It does not read a relation");
    void this.#service.reloadIfStale(error);
    return error;
  }

  #exchangeOf(query: LiveQuery, signal: AbortSignal, timing: RequestTiming): Exchange {
    const { path, query: text, profile, timezone, identity } = query;
    const headers = {
      accept: "application/x-ndjson",
      ...profile === null ? {} : { "accept-profile": profile },
      ...timezone === null ? {} : { prefer: `timezone=${timezone}` },
    };
    const pieces: RawRequest = { method: "GET", path, query: text, headers, cookies: {} };
    const request = new Request(`http://localhost${path}${text === "" ? "" : `?${text}`}`, {
      signal,
    });
    return new Exchange(request, this.#liveContext(), {
      info: { identity, isUnlogged: true },
      pieces,
      credential: { token: null, source: "none" },
      identifiers: noIdentifiers,
      refusal: null,
      timing,
    });
  }

  /** Returns the context of reads: the primary executes them, and no policy of `rate-limits` counts them. */
  #liveContext(): Context {
    const context = this.#context();
    const { snapshot } = context;
    const known = this.#contexts.get(snapshot);
    if (known !== undefined) return known;
    const config = { ...snapshot.config, showsSnapshot: true };
    const shown = { ...snapshot, config, rateLimits: null };
    const planCache = new PlanCache(shown);
    const made = { ...context, snapshot: shown, planCache, bookmarkHeader: null };
    this.#contexts.set(snapshot, made);
    return made;
  }
}

/** Returns the lines of a reply. Throws `182` if there are more than `max`. */
async function linesOf({ content }: Reply, max: number): Promise<readonly string[]> {
  if (content === null) return [];
  const lines: string[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  const add = (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    for (const part of parts) lines.push(part);
    if (lines.length > max) throw errors.liveResultTooLarge(max);
  };
  if (content instanceof Uint8Array) add(decoder.decode(content));
  else for await (const chunk of content) add(decoder.decode(chunk, { stream: true }));
  return lines;
}

/** Returns the output names of the primary key's columns; empty if the rows lack one. */
function keyColumnsOf({ root: { items }, relation }: ReadPlan): readonly string[] {
  const names = relation!.primaryKey.map((column) => keyNameOf(column, items));
  return names.every((name) => name !== null) ? names : [];
}

function keyNameOf(column: string, items: ReadNode["items"]): string | null {
  for (const item of items) {
    if (item.kind === "all") return column;
    const isKey = item.kind === "column" && item.field.column === column &&
      item.field.path.length === 0 && item.cast === null;
    if (isKey) return item.key;
  }
  return null;
}
