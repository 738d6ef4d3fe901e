/** The endpoint of live queries, in the protocol of Electric's shape log
 * (https://electric-sql.com/docs/api/http). @module */
import type { Identity } from "../auth/jwt_cache.ts";
import { errors } from "../errors/catalogue.ts";
import { ServiceError } from "../errors/service_error.ts";
import type { HeaderList } from "../lib/header_list.ts";
import type { Schedule } from "../lib/timers.ts";
import { parsePreferences } from "../request/preferences.ts";
import type { Reply } from "../response/reply.ts";
import { EventStream } from "./event_stream.ts";
import type { LiveGroup } from "./group.ts";
import type { LiveGroups } from "./groups.ts";
import { type LiveParams, readLiveParams } from "./live_params.ts";
import { encodeEvents, encodeJson, type MessageBatch, mustRefetch, upToDate } from "./messages.ts";
import type { LiveMessage } from "./port.ts";
import type { ChangeReader } from "./reader.ts";

/** Longest wait of a poll. */
const pollMs = 20_000;
/** Pause before a stream without capacity tries again. */
const capacityMs = 1000;

interface EndpointOptions {
  readonly groups: LiveGroups;
  readonly reader: ChangeReader;
  /** A client must read its rows again. */
  readonly refetched: () => void;
  /** Epoch milliseconds. */
  readonly time: () => number;
  readonly schedule: Schedule;
}

interface AdmittedMessage {
  readonly message: LiveMessage;
  readonly params: LiveParams;
  readonly identity: Identity;
}

/** A group that can continue from a client's offset. */
interface OpenedGroup {
  readonly group: LiveGroup;
  /** Ends the client's use of a stream. */
  readonly leave: () => void;
  /** Null if the client must read its rows again. */
  readonly batches: readonly MessageBatch[] | null;
}

export class LiveEndpoint {
  readonly #options: EndpointOptions;
  /** Streams without capacity; null when the service stops. */
  #silent: Set<EventStream> | null = new Set();

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Answers a request. Rejects with errors of the API. */
  async respond(message: LiveMessage): Promise<Reply> {
    const { method, path } = message;
    if (method === "OPTIONS") {
      return { status: 200, headers: [["Allow", "OPTIONS,GET"]], content: null, length: null };
    }
    if (method !== "GET") throw errors.unsupportedMethod(method);
    if (!/^\/[^/]+$/.test(path)) throw errors.invalidLiveQuery("The path names no relation");
    const params = readLiveParams(message.query, message.headers);
    const isPoll = params.offset !== null && (params.form === "rows" || params.form === "poll");
    const identity = await message.admit(isPoll ? "poll" : "start");
    const request = { message, params, identity };
    if (params.form === "events") {
      const stream = this.#newStream(request);
      await this.#begin(stream, request);
      return streamReply(stream, [cacheControl]);
    }
    return await this.#answer(request, await this.#open(request));
  }

  /** Ends streams that no group ends. */
  close(): void {
    for (const stream of [...this.#silent ?? []]) stream.close();
    this.#silent = null;
  }

  /** Waits until the group can continue from the client's offset. Rejects with `183`, `184`, or the error of the run. */
  async #open({ message, params, identity }: AdmittedMessage): Promise<OpenedGroup> {
    const { groups, reader } = this.#options;
    const { form, offset, query, minXmax } = params;
    const { headers, path, clientKey } = message;
    const leave = form === "rows" ? () => {} : groups.enter(clientKey);
    try {
      const { timezone } = parsePreferences(headers["prefer"] ?? null);
      const profile = headers["accept-profile"] ?? null;
      const group = groups.groupOf({ path, query, profile, timezone, identity });
      await reader.start();
      const isKnown = offset !== null && group.hasOffset(offset);
      // Without the schema svc_live, the run tells what is missing.
      if (reader.isReading || !reader.isInstalled) await group.ready(isKnown ? null : minXmax);
      if (!reader.isReading) throw errors.noLiveCapacity("Changes cannot be read", 1);
      return { group, leave, batches: offset === null ? [group.whole] : group.since(offset) };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #answer(request: AdmittedMessage, opened: OpenedGroup): Reply | Promise<Reply> {
    const { form, offset, handle } = request.params;
    const { group, leave, batches } = opened;
    if (form === "poll" && batches?.length === 0) return this.#wait(request, opened);
    if (form === "changes" && batches !== null) {
      const stream = this.#newStream(request);
      this.#feed(stream, opened);
      return streamReply(stream, this.#headers(handle, batches.at(-1)?.offset ?? group.offset));
    }
    leave();
    if (batches !== null) return this.#messages(request, group, batches);
    this.#options.refetched();
    // The next request of the client waits until the result is as new as the client's.
    const headers = this.#headers(`${offset!.xmax}-${crypto.randomUUID()}`, group.offset);
    return jsonReply(409, headers, [mustRefetch]);
  }

  #messages(
    { params: { handle } }: AdmittedMessage,
    group: LiveGroup,
    batches: readonly MessageBatch[],
  ): Reply {
    const last = batches.at(-1)?.offset ?? group.offset;
    const messages = batches.flatMap((batch) => batch.messages);
    const content = messages.length === 0 ? [upToDate(last)] : messages;
    return jsonReply(200, this.#headers(handle, last), content);
  }

  /** Answers with the next batch, or after 20 s without one. */
  #wait(request: AdmittedMessage, { group, leave }: OpenedGroup): Promise<Reply> {
    const { signal } = request.message;
    const ends = [leave];
    return new Promise<Reply>((resolve, reject) => {
      const unchanged = () => resolve(this.#messages(request, group, []));
      signal.addEventListener("abort", unchanged);
      ends.push(
        () => signal.removeEventListener("abort", unchanged),
        this.#options.schedule(unchanged, Math.max(1000, this.#lifeMs(request.identity, pollMs))),
        group.subscribe({
          receive: (batch) => resolve(this.#messages(request, group, [batch])),
          fail: () => reject(errors.noLiveCapacity("The rows cannot be read", 1)),
          end: (error) => error === null ? unchanged() : reject(error),
        }),
      );
    }).finally(() => ends.forEach((end) => end()));
  }

  /** Begins the stream of an EventSource. That would stop at 503: its stream stays silent until there is capacity. */
  async #begin(stream: EventStream, request: AdmittedMessage): Promise<void> {
    try {
      const opened = await this.#open(request);
      if (opened.batches === null) {
        this.#options.refetched();
        stream.send(encodeEvents([mustRefetch], null));
      }
      this.#feed(stream, { ...opened, batches: opened.batches ?? [opened.group.whole] });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.fields.status !== 503) {
        stream.close();
        throw error;
      }
      if (this.#silent === null) return stream.close();
      if (this.#silent.size >= request.message.config.liveMaxStreams) {
        stream.close();
        throw error;
      }
      this.#silent.add(stream);
      const retry = () => void this.#begin(stream, request).catch(() => {});
      const cancel = this.#options.schedule(retry, capacityMs);
      stream.onEnd(() => {
        cancel();
        this.#silent?.delete(stream);
      });
    }
  }

  #feed(stream: EventStream, { group, leave, batches }: OpenedGroup): void {
    for (const batch of batches!) stream.receive(batch);
    if (batches!.length === 0) stream.send(encodeEvents([upToDate(group.offset)], group.offset));
    stream.onEnd(group.subscribe(stream));
    stream.onEnd(leave);
  }

  /** Makes a stream that ends when its token does. Others end at different times. */
  #newStream({ identity, message: { config } }: AdmittedMessage): EventStream {
    const lifeMs = config.liveRecheck * 1000 * (0.75 + Math.random() / 2);
    return new EventStream(this.#lifeMs(identity, lifeMs), this.#options.schedule);
  }

  /** Returns the milliseconds until the token expires, at most `max`. */
  #lifeMs({ claims }: Identity, max: number): number {
    const { exp = Infinity } = JSON.parse(claims) as { readonly exp?: number };
    return Math.max(0, Math.min(max, exp * 1000 - this.#options.time()));
  }

  #headers(handle: string | null, offset: string): HeaderList {
    return [
      cacheControl,
      ["electric-offset", `${offset}_0`],
      ["electric-handle", handle ?? `0-${crypto.randomUUID()}`],
      ["electric-schema", "{}"],
      // Electric's client takes an answer with the cursor of an earlier one for a cached one.
      ["electric-cursor", String(this.#options.time())],
      ["electric-up-to-date", ""],
    ];
  }
}

const cacheControl = ["Cache-Control", "no-store, no-transform"] as const;

function jsonReply(status: number, headers: HeaderList, messages: readonly string[]): Reply {
  const content = encodeJson(messages);
  const { length } = content;
  const own = [["Content-Type", "application/json"], ["Content-Length", `${length}`]] as const;
  return { status, headers: [...own, ...headers], content, length };
}

function streamReply({ body }: EventStream, headers: HeaderList): Reply {
  const own = [["Content-Type", "text/event-stream"], ["X-Accel-Buffering", "no"]] as const;
  return { status: 200, headers: [...own, ...headers], content: body, length: null };
}
