/** The endpoint of live queries, in the protocol of Electric's shape log
 * (https://electric-sql.com/docs/api/http). @module */
import { errors } from "../../base/errors/catalogue.ts";
import { liveErrors } from "./live_errors.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import {
  admitClient,
  admitIdentity,
  authenticateRequest,
  clientKeyOf,
} from "../../api/handler/admission.ts";
import type { Exchange } from "../../api/handler/exchange.ts";
import { emptyReply } from "../../api/handler/headers.ts";
import { deferred } from "../../base/lib/deferred.ts";
import { beforeDeadline } from "../../base/lib/time_limits.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import { splitQuery } from "../../api/request/url/query_string.ts";
import type { RawRequest } from "../../api/request/raw_request.ts";
import type { Reply } from "../../api/response/reply.ts";
import { EventStream } from "./event_stream.ts";
import type { LiveGroup, LiveQuery, Subscriber } from "./group.ts";
import type { LiveGroups } from "./groups.ts";
import {
  encodeJson,
  joinBatches,
  type MessageBatch,
  mustRefetch,
  refetchBatch,
  retryEvents,
} from "./messages.ts";
import { type LiveOffset, readOffset } from "./offset.ts";
import type { ChangeReader } from "./reader.ts";
import { plainShape, readShape, type Shape, type ShapeCatalogue, shapePath } from "./shape.ts";
import type { LiveConfig } from "./live_options.ts";

/** Milliseconds after which the next check ends a waiting poll. */
const pollMs = 19_000;

interface LiveRequest {
  readonly exchange: Exchange;
  /** The request that policies of `rate-limits` apply to. */
  readonly raw: RawRequest;
  readonly params: LiveParams;
  readonly query: LiveQuery;
  /** Called when a stream ends. */
  readonly leave: () => void;
}

export class LiveEndpoint {
  constructor(
    private readonly groups: LiveGroups,
    private readonly reader: ChangeReader,
    /** Called with the error of a rejected request. */
    private readonly onRefused: (error: unknown) => void,
  ) {}

  /** Responds to a request below `prefix`. Rejects with errors of the API. */
  async respond(exchange: Exchange, prefix: string): Promise<Reply> {
    const { raw: { method }, context: { snapshot, routes } } = exchange;
    if (method === "OPTIONS") return emptyReply(200, [["Allow", "OPTIONS,GET"]]);
    if (method !== "GET") throw errors.unsupportedMethod(method);
    const params = readLiveParams(exchange.raw, prefix, snapshot);
    const { path, query, profile } = params.shape;
    exchange.route = prefix + routes.of(path);
    const raw = { ...exchange.raw, path: prefix + path };
    const isPoll = params.offset !== null && (params.form === "rows" || params.form === "poll");
    if (!isPoll) admitClient(exchange, raw);
    const identity = await authenticateRequest(exchange, snapshot.config.jwtAud);
    exchange.identity = identity;
    const request = { exchange, raw, params, query: { path, query, profile, identity } };
    // A poll whose group no longer exists reads the rows, so it is admitted like the start of a stream.
    if (isPoll && !this.groups.has(request.query)) admitClient(exchange, raw);
    admitIdentity(exchange, identity);
    return await this.#answer(request);
  }

  /** Answers a request. Streams and polls are counted from their start, even if they wait for a run.
   * Rejects with `183`, `184`, or the error of the run. */
  async #answer(request: Omit<LiveRequest, "leave">): Promise<Reply> {
    const { exchange, params: { form } } = request;
    let leave = () => {};
    let isStream = false;
    try {
      if (form !== "rows") leave = this.groups.enter(clientKeyOf(exchange));
      const reply = await this.#continue({ ...request, leave });
      isStream = reply.content instanceof ReadableStream;
      return reply;
    } catch (error) {
      this.onRefused(error);
      const isLater = error instanceof ServiceError && error.fields.status >= 503;
      if (form !== "events" || !isLater) throw error;
      // The reply is an empty stream: an EventSource stops at an error, but reconnects at the end of a stream.
      return streamReply(retryEvents, [cacheControl]);
    } finally {
      if (!isStream) leave();
    }
  }

  /** Responds with the rows, or with the changes after the client's offset. */
  async #continue(request: LiveRequest): Promise<Reply> {
    const { exchange, raw, params, query } = request;
    const { form, offset, minXmax, shape } = params;
    const group = this.groups.groupOf(query);
    // A poll may need a new run, because only a run shows whether the client may still see the rows.
    const isPoll = offset !== null && (form === "rows" || form === "poll");
    const isReading = await this.#untilRead(exchange);
    const isKnown = offset !== null && group.hasOffset(offset);
    // The run precedes the check of `isReading`: without the schema svc_live, its error names the objects.
    const isFresh = isPoll && await group.ready(isKnown ? null : minXmax);
    if (!isPoll) await group.renewed();
    else if (!isFresh && (group.since(offset)?.length ?? 0) > 0) {
      admitClient(exchange, raw);
      admitIdentity(exchange, query.identity);
      await group.renewed();
    }
    if (!isReading) throw liveErrors.noLiveCapacity("Changes cannot be read", 1);
    const batches = offset === null ? [group.whole] : group.since(offset);
    if (batches === null && form !== "events") {
      // The handle contains `xmax`: the client's next request waits until the result is as new as its rows.
      const headers = this.#headers(
        { handle: `${offset!.xmax}-${crypto.randomUUID()}`, shape },
        group.offset,
      );
      return jsonReply(409, headers, encodeJson([mustRefetch]));
    }
    if (form === "poll" && batches?.length === 0) return await this.#wait(request, group);
    const batch = batches === null ? group.whole : joinBatches(batches) ?? group.unchanged;
    if (form === "rows" || form === "poll") return this.#messages(params, batch);
    return this.#stream(request, group, batches === null ? [refetchBatch, batch] : [batch]);
  }

  #messages(params: LiveParams, batch: MessageBatch): Reply {
    return jsonReply(200, this.#headers(params, batch.offset!), batch.json);
  }

  /** Waits until changes can be read, until the client disconnects, or until the time limit of the
   * request. */
  async #untilRead(exchange: Exchange): Promise<boolean> {
    const { signal } = exchange.request;
    const left = deferred<false>();
    const leave = () => left.resolve(false);
    signal.addEventListener("abort", leave, { once: true });
    exchange.startTime();
    try {
      const reading = Promise.race([this.reader.start(), left.promise]);
      return await beforeDeadline(reading, exchange.deadline, errors);
    } finally {
      exchange.deadline?.clear();
      signal.removeEventListener("abort", leave);
    }
  }

  /** Responds with the next batch, or after 20 s without a change. */
  #wait({ exchange, params, query }: LiveRequest, group: LiveGroup): Promise<Reply> {
    // A poll waits at least 1 s even if its token has expired, because the issuer's clock may differ.
    const endsAt = Math.max(this.groups.options.time() + 1000, this.#endOf(query, pollMs));
    const { promise, resolve, reject } = deferred<Reply>();
    const unchanged = () => resolve(this.#messages(params, group.unchanged));
    exchange.request.signal.addEventListener("abort", unchanged, { once: true });
    const subscriber: Subscriber = {
      receive: (batch) => resolve(this.#messages(params, batch)),
      fail: () => reject(liveErrors.noLiveCapacity("The rows cannot be read", 1)),
      check: (time) => time >= endsAt && unchanged(),
      end: (error) => error === null ? unchanged() : reject(error),
    };
    group.subscribe(subscriber);
    return promise.finally(() => group.unsubscribe(subscriber));
  }

  /** Creates a stream. It ends when its token expires, or at a random time around `live-recheck`. */
  #stream(
    { exchange, params, query, leave }: LiveRequest,
    group: LiveGroup,
    batches: readonly MessageBatch[],
  ): Reply {
    const { liveRecheck } = exchange.context.snapshot.config as LiveConfig;
    const endsAt = this.#endOf(query, liveRecheck * 1000 * (0.75 + Math.random() / 2));
    const { bodySpool: spool } = exchange.context;
    const { schedule } = this.groups.options;
    const onEnd = () => group.unsubscribe(stream);
    const stream: EventStream = new EventStream({ spool, endsAt, schedule, onEnd });
    // The stream is counted until the client has received its last bytes.
    void stream.body.ended.then(leave);
    group.subscribe(stream);
    for (const batch of batches) stream.receive(batch);
    return streamReply(stream.body.stream, this.#headers(params, group.offset));
  }

  /** Returns the earlier of two times: the end of the token, and `ms` from now. */
  #endOf({ identity }: LiveQuery, ms: number): number {
    const { exp = Infinity } = JSON.parse(identity.claims) as { readonly exp?: number };
    return Math.min(this.groups.options.time() + ms, exp * 1000);
  }

  #headers({ handle, shape }: Pick<LiveParams, "handle" | "shape">, offset: string): HeaderList {
    return [
      cacheControl,
      ["electric-offset", `${offset}_0`],
      ["electric-handle", handle ?? `0-${crypto.randomUUID()}`],
      ["electric-schema", shape.schema],
      // The cursor is always new: Electric's client takes an answer with an earlier cursor for a cached one.
      ["electric-cursor", String(this.groups.options.time())],
      ["electric-up-to-date", ""],
    ];
  }
}

const cacheControl = ["Cache-Control", "no-store, no-transform"] as const;

function jsonReply(status: number, headers: HeaderList, content: Uint8Array): Reply {
  const { length } = content;
  const defaults = [["Content-Type", "application/json"], ["Content-Length", `${length}`]] as const;
  return { status, headers: [...defaults, ...headers], content, length };
}

function streamReply(content: NonNullable<Reply["content"]>, headers: HeaderList): Reply {
  const defaults = [["Content-Type", "text/event-stream"], ["X-Accel-Buffering", "no"]] as const;
  return { status: 200, headers: [...defaults, ...headers], content, length: null };
}

const protocolName =
  /^(?:offset|handle|live|(?:experimental_)?live_sse|log|cursor|expired_handle|cache-buster|replica)$/;
/** An offset that no group can continue. */
const unknownOffset: LiveOffset = { xmax: 0n, ms: 0, sum: -1n };

interface LiveParams {
  /** A response, a response that waits for a change, a stream of changes, or a stream of rows and changes. */
  readonly form: "rows" | "poll" | "changes" | "events";
  readonly shape: Shape;
  /** Null to read all rows. */
  readonly offset: LiveOffset | null;
  readonly handle: string | null;
  /** The `xmax` that the result must exceed, so that the client sees no older state; null for no condition. */
  readonly minXmax: bigint | null;
}

/** Parses a request. Throws `180`, or `186` in Electric's form. */
function readLiveParams(
  { path, query, headers }: RawRequest,
  prefix: string,
  snapshot: ShapeCatalogue,
): LiveParams {
  const params = splitQuery(query);
  const values = new Map(params.map(({ name, value }) => [name, value]));
  const others = params.filter(({ name }) => !protocolName.test(name));
  const isFull = ["full", "", null].includes(values.get("log") ?? null);
  if (!isFull) throw liveErrors.invalidLiveQuery("'log' is not supported");
  const profile = headers["accept-profile"] ?? null;
  const shape = path === prefix + shapePath
    ? readShape(others, profile, snapshot)
    : plainShape(path.slice(prefix.length), others, profile);
  const isLive = values.get("live") === "true";
  const isStream = [values.get("live_sse"), values.get("experimental_live_sse")].includes("true");
  const isEvents = !isLive && /\btext\/event-stream\b/.test(headers["accept"] ?? "");
  const lastId = isEvents ? headers["last-event-id"] : undefined;
  const text = lastId ?? values.get("offset") ?? "-1";
  const offset = text === "-1" ? null : readOffset(text) ?? (lastId && unknownOffset);
  if (offset === undefined) {
    throw liveErrors.invalidLiveQuery("The offset is not that of an answer");
  }
  const handle = values.get("handle") ?? null;
  const [, xmax] = /^([1-9]\d{0,19})-/.exec(handle ?? "") ?? [];
  return {
    form: isEvents ? "events" : !isLive ? "rows" : isStream ? "changes" : "poll",
    shape,
    offset: offset || null,
    handle,
    minXmax: offset ? offset.xmax : xmax === undefined ? null : BigInt(xmax),
  };
}
