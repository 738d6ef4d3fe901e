/** The host of live queries: knows their paths, and makes their reads, which are requests of the API in
 * this process. @module */
import { errors } from "../errors/catalogue.ts";
import type { ServiceError } from "../errors/service_error.ts";
import { noIdentifiers } from "../http/request_id.ts";
import { schedule } from "../lib/timers.ts";
import { LiveDependencies } from "./dependencies.ts";
import { LiveEndpoint } from "./endpoint.ts";
import { LiveGroups } from "./groups.ts";
import { parsePgSnapshot } from "./offset.ts";
import type { LiveQuery, LiveRows } from "./group.ts";
import { ChangeReader } from "./reader.ts";
import { interestOf } from "./scope.ts";
import { RequestTiming } from "../observe/stopwatch.ts";
import type { ReadNode } from "../plan/read_node.ts";
import type { ReadPlan } from "../plan/read_plan.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { RequestService } from "../service/request_service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import { changedContext } from "../handler/context.ts";
import { type Context, Exchange, type PathHost } from "../handler/exchange.ts";
import { answer, failureReply } from "../handler/pipeline.ts";
import { reportOutcome } from "../handler/report.ts";

/** Returns the host of a service; null without `live-path`. */
export function liveOf(
  service: RequestService,
  loading: ServiceOptions["loading"] = "shared",
): PathHost | null {
  const { livePath: prefix } = service.snapshot.config;
  if (prefix === null) return null;
  let context: () => Context;
  // Where connections end with the request, there is no endpoint.
  const endpoint = loading === "unshared" ? null : openEndpoint(service, () => context());
  return {
    matches: (path) => path.startsWith(`${prefix}/`),
    async respond(exchange) {
      context = exchange.context.current;
      const path = exchange.pieces.path.slice(prefix.length);
      exchange.route = prefix + exchange.context.routes.of(path);
      try {
        if (exchange.refusal !== null) throw exchange.refusal;
        if (endpoint === null) throw errors.liveUnavailable();
        return await endpoint.respond(exchange, path);
      } catch (thrown) {
        return failureReply(exchange, thrown);
      }
    },
  };
}

function openEndpoint(service: RequestService, context: () => Context): LiveEndpoint {
  const { database, metricRegistry: registry, ending, now: time } = service;
  const now = () => performance.now();
  const gauge = (name: string, help: string, read: () => number) =>
    registry.gauge({ name, help }, () => [[[], read()]]);
  gauge("live_streams", "Streams and waiting polls of live queries", () => groups.streams);
  gauge("live_groups", "Results that live queries share", () => groups.size);
  const counter = (name: string, help: string) => registry.counter({ name, help });
  const runs = counter("live_runs_total", "Reads of results of live queries");
  const excluded = counter("live_excluded_total", "Reads that a scope made unnecessary");
  const reads = new LiveReads(service, context);
  const groups = new LiveGroups({
    config: () => service.snapshot.config,
    read: (query, signal) => {
      runs.increment();
      return reads.read(query, signal);
    },
    excluded: () => excluded.increment(),
    now,
    time,
    schedule,
  });
  let { cache } = service.snapshot;
  const reader = new ChangeReader({
    database,
    intervalMs: () => service.snapshot.config.liveInterval * 1000,
    isNeeded: () => groups.size > 0,
    found: (records) => groups.record(records),
    missed: () => groups.markAll(),
    polled: () => {
      if (service.snapshot.cache !== cache) groups.reload();
      cache = service.snapshot.cache;
    },
    now,
    schedule,
  });
  ending.addEventListener("abort", () => {
    for (const part of [reader, groups]) part.close();
  }, { once: true });
  return new LiveEndpoint({ groups, reader, time });
}

/** Reads the rows of groups: each read is an ordinary GET, whose answer shows its snapshot. */
class LiveReads {
  /** Their context: the primary executes them, and no policy of `rate-limits` counts them. */
  readonly #contextOf = changedContext((snapshot) => ({
    ...snapshot,
    config: { ...snapshot.config, showsSnapshot: true },
    rateLimits: null,
  }));
  readonly #dependencies: LiveDependencies;

  constructor(readonly service: RequestService, readonly context: () => Context) {
    this.#dependencies = new LiveDependencies(service.database);
  }

  async read(query: LiveQuery, signal: AbortSignal): Promise<LiveRows | ServiceError> {
    const { service } = this;
    const timing = new RequestTiming();
    const context = { ...this.#contextOf(this.context()), bookmarkHeader: null };
    const exchange = exchangeOf(query, { signal, timing, context });
    const { snapshot: { cache, config } } = exchange.context;
    const startedAt = performance.now();
    const reply = await answer(exchange);
    try {
      if (exchange.failure === null && exchange.plan?.kind === "read") {
        const lines = await linesOf(reply, config.liveMaxRows);
        const ms = performance.now() - startedAt - timing.queueMs;
        const { read } = exchange.plan;
        const tables = await this.#dependencies.of(read, cache!);
        // A cache that was replaced meanwhile may know other dependencies.
        const isCurrent = service.snapshot.cache === cache;
        const interest = isCurrent ? interestOf(tables, read.root, query.query) : null;
        const snapshot = parsePgSnapshot(reply.snapshot!);
        return { lines, snapshot, ms, keyColumns: keyColumnsOf(read), interest };
      }
    } catch (thrown) {
      failureReply(exchange, thrown);
    }
    reportOutcome(exchange);
    const error = exchange.failure?.error ?? errors.invalidLiveQuery("It does not read a relation");
    void service.reloadIfStale(error);
    return error;
  }
}

function exchangeOf(
  { path, query, profile, identity }: LiveQuery,
  { signal, timing, context }: {
    readonly signal: AbortSignal;
    readonly timing: RequestTiming;
    readonly context: Context;
  },
): Exchange {
  const accept = "application/x-ndjson";
  const headers: RawRequest["headers"] = profile === null
    ? { accept }
    : { accept, "accept-profile": profile };
  const url = `http://localhost${path}${query === "" ? "" : `?${query}`}`;
  return new Exchange(new Request(url, { signal }), context, {
    info: { identity, isUnlogged: true },
    pieces: { method: "GET", path, query, headers, cookies: {} },
    credential: { token: null, source: "none" },
    identifiers: noIdentifiers,
    refusal: null,
    timing,
  });
}

/** Returns the lines of a reply. Throws `182` if there are more than `max`. */
async function linesOf({ content }: Reply, max: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of content instanceof Uint8Array ? [content] : content ?? []) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop()!;
    for (const part of parts) lines.push(part);
    if (lines.length > max) throw errors.liveResultTooLarge(max);
  }
  return lines;
}

/** Returns the output names of the primary key's columns; empty if the rows lack one. */
function keyColumnsOf({ root: { items }, relation }: ReadPlan): readonly string[] {
  const names = relation!.primaryKey.map((column) => {
    if (items.some(({ kind }) => kind === "all")) return column;
    const isKey = (item: ReadNode["items"][number]) =>
      item.kind === "column" && item.field.column === column && item.field.path.length === 0 &&
      item.cast === null;
    const item = items.find(isKey);
    return item?.kind === "column" ? item.key : null;
  });
  return names.every((name) => name !== null) ? names : [];
}
